#include "worker/engine/backend/cuda/products/cublas_lt.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

namespace gp::engine {
namespace {

// Plans are small, but a sampler needs one for each number of rows, which varies with the prompts.
constexpr size_t kPlansMax = 4096;

// When a sum is split, its parts must be added in fp32, without rounding to a 16-bit result in
// between. So schemes that keep the parts in the result's type are allowed only for fp32 results.
// The scheme that adds the parts one after another in the output buffer is never allowed.
uint32_t ReductionSchemes(int result_type) {
  constexpr uint32_t kInFp32 = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  return result_type == CUDA_R_32F ? kInFp32 | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE : kInFp32;
}

void Check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + " failed: " + cublasLtGetStatusName(status) +
                           "; is another process using up the device's memory?");
}

// cuBLASLt is column-major, so it sees each row-major matrix transposed: d^T = b^T a^T. Our b is
// its A, our a is its B, and the rows of our d are its columns.
cublasLtEpilogue_t LtEpilogue(ProductEpilogue epilogue, bool has_bias) {
  switch (epilogue) {
    case ProductEpilogue::kNone:
      return has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case ProductEpilogue::kGelu:
      return has_bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    case ProductEpilogue::kGeluGradient:
      return CUBLASLT_EPILOGUE_DGELU;
    case ProductEpilogue::kGeluGradientAndSums:
      return CUBLASLT_EPILOGUE_DGELU_BGRAD;
    case ProductEpilogue::kSumsOfA:
      return CUBLASLT_EPILOGUE_BGRADB;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

bool HasAux(ProductEpilogue epilogue) {
  return epilogue == ProductEpilogue::kGelu || epilogue == ProductEpilogue::kGeluGradient ||
         epilogue == ProductEpilogue::kGeluGradientAndSums;
}

bool IsFp8(int type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

struct DescriptorDeleter {
  void operator()(cublasLtMatmulDesc_t descriptor) const { cublasLtMatmulDescDestroy(descriptor); }
  void operator()(cublasLtMatrixLayout_t layout) const { cublasLtMatrixLayoutDestroy(layout); }
  void operator()(cublasLtMatmulPreference_t preference) const {
    cublasLtMatmulPreferenceDestroy(preference);
  }
};

template <typename Pointer>
using Owned = std::unique_ptr<std::remove_pointer_t<Pointer>, DescriptorDeleter>;

template <typename T>
void Set(cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t attribute,
         const T& value) {
  Check(cublasLtMatmulDescSetAttribute(descriptor, attribute, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute");
}

template <typename T>
void Set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const T& value) {
  Check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute");
}

template <typename T>
void Set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const T& value) {
  Check(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof(value)),
        "cublasLtMatrixLayoutSetAttribute");
}

// `columns` of the row-major matrix are cuBLASLt's rows.
Owned<cublasLtMatrixLayout_t> MakeLayout(int type, int64_t rows, int64_t columns, int64_t stride,
                                         int64_t batch, int64_t batch_stride) {
  cublasLtMatrixLayout_t layout = nullptr;
  Check(cublasLtMatrixLayoutCreate(&layout, static_cast<cudaDataType_t>(type),
                                   static_cast<uint64_t>(columns), static_cast<uint64_t>(rows),
                                   stride),
        "cublasLtMatrixLayoutCreate");
  Owned<cublasLtMatrixLayout_t> owned(layout);
  if (batch > 1) {
    Set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch));
    Set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batch_stride);
  }
  return owned;
}

Owned<cublasLtMatmulDesc_t> MakeDescriptor(const ProductKind& kind) {
  cublasLtMatmulDesc_t descriptor = nullptr;
  Check(cublasLtMatmulDescCreate(
            &descriptor, kind.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  Owned<cublasLtMatmulDesc_t> owned(descriptor);
  const auto operation = [](bool transposed) {
    return static_cast<int32_t>(transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  };
  Set(descriptor, CUBLASLT_MATMUL_DESC_TRANSA, operation(kind.b_transposed));
  Set(descriptor, CUBLASLT_MATMUL_DESC_TRANSB, operation(kind.a_transposed));
  Set(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE,
      static_cast<uint32_t>(LtEpilogue(kind.epilogue, kind.has_bias)));
  if (HasAux(kind.epilogue)) {
    Set(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, kind.n);
  }
  if (IsFp8(kind.a_type)) {
    // Fast accumulation, in the tensor cores' own accumulator, loses bits that gradients need.
    const bool gradients = kind.a_type == CUDA_R_8F_E5M2;
    Set(descriptor, CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<int8_t>(gradients ? 0 : 1));
  }
  return owned;
}

// Writes the product's addresses into its descriptor.
void Bind(const Product& product, cublasLtMatmulDesc_t descriptor) {
  const void* vector = product.sums != nullptr ? product.sums : product.bias;
  if (vector != nullptr) Set(descriptor, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
  if (product.aux != nullptr) {
    Set(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, product.aux);
  }
  if (product.a.scale != nullptr) {
    Set(descriptor, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, product.b.scale);
    Set(descriptor, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, product.a.scale);
  }
}

std::optional<cublasLtMatmulAlgo_t> Decode(const std::string& text) {
  cublasLtMatmulAlgo_t algorithm;
  if (text.size() != std::size(algorithm.data) * 16) return std::nullopt;
  for (size_t i = 0; i < std::size(algorithm.data); ++i) {
    algorithm.data[i] = std::stoull(text.substr(i * 16, 16), nullptr, 16);
  }
  return algorithm;
}

}  // namespace

struct CublasLt::Plan {
  Owned<cublasLtMatmulDesc_t> descriptor;
  Owned<cublasLtMatrixLayout_t> a;
  Owned<cublasLtMatrixLayout_t> b;
  Owned<cublasLtMatrixLayout_t> d;
  std::optional<cublasLtMatmulAlgo_t> algorithm;  // nullopt: not supported, or excluded by a choice
  std::optional<bool> is_fused;                   // nullopt: not chosen
};

std::string EncodeAlgorithm(const cublasLtMatmulAlgo_t& algorithm) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint64_t word : algorithm.data) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[word >> shift & 15];
  }
  return text;
}

CublasLt::CublasLt(void* workspace, GemmChoices choices)
    : workspace_(workspace), choices_(std::move(choices)) {
  Check(cublasLtCreate(&handle_), "cublasLtCreate");
}

CublasLt::~CublasLt() {
  plans_.clear();
  cublasLtDestroy(handle_);
}

bool CublasLt::Supports(const Product& product) { return PlanOf(product).algorithm.has_value(); }

void CublasLt::Run(const Product& product, cudaStream_t stream) {
  Plan& plan = PlanOf(product);
  if (!plan.algorithm) {
    throw std::runtime_error("cuBLASLt has no algorithm for the product " + KindOf(product).Text() +
                             " on this device; use engine.precision fp32 or other sizes");
  }
  Check(Queue(product, plan, *plan.algorithm, stream), "cublasLtMatmul");
}

std::vector<cublasLtMatmulAlgo_t> CublasLt::Candidates(const Product& product, int count_max) {
  std::vector<cublasLtMatmulAlgo_t> candidates;
  for (const auto& result : Heuristics(PlanOf(product), KindOf(product), count_max)) {
    candidates.push_back(result.algo);
  }
  return candidates;
}

bool CublasLt::TryRun(const Product& product, const cublasLtMatmulAlgo_t& algorithm,
                      cudaStream_t stream) {
  return Queue(product, PlanOf(product), algorithm, stream) == CUBLAS_STATUS_SUCCESS;
}

bool CublasLt::HasFusionChoice(const Product& product) {
  return PlanOf(product).is_fused.has_value();
}

void CublasLt::SetFusionChoice(const Product& product, bool is_fused) {
  Plan& plan = PlanOf(product);
  plan.is_fused = is_fused;
  if (!is_fused) plan.algorithm.reset();
}

GemmChoices CublasLt::InUse() const {
  GemmChoices choices(choices_.device());
  for (const auto& [kind, plan] : plans_) {
    if (plan->is_fused == false) choices.Set(kind.Text(), GemmChoices::kPassedOver);
    if (plan->algorithm) choices.Set(kind.Text(), EncodeAlgorithm(*plan->algorithm));
  }
  return choices;
}

CublasLt::Plan& CublasLt::PlanOf(const Product& product) {
  const ProductKind kind = KindOf(product);
  const auto found = plans_.find(kind);
  if (found != plans_.end()) return *found->second;
  if (plans_.size() >= kPlansMax) plans_.clear();
  Plan& plan = *plans_.emplace(kind, MakePlan(product, kind)).first->second;
  if (judge_ && plan.algorithm && choices_.Find(kind.Text()) == nullptr) AskJudge(product, plan);
  return plan;
}

void CublasLt::AskJudge(const Product& product, Plan& plan) {
  constexpr int kCandidatesMax = 48;
  plan.algorithm = judge_(product, Candidates(product, kCandidatesMax));
}

std::unique_ptr<CublasLt::Plan> CublasLt::MakePlan(const Product& product,
                                                   const ProductKind& kind) {
  const auto layout = [&](int type, int64_t rows, int64_t columns, bool transposed, int64_t stride,
                          int64_t batch_stride) {
    if (transposed) std::swap(rows, columns);
    return MakeLayout(type, rows, columns, stride, kind.batch, batch_stride);
  };
  auto plan = std::make_unique<Plan>();
  plan->descriptor = MakeDescriptor(kind);
  plan->a =
      layout(kind.a_type, kind.m, kind.k, kind.a_transposed, kind.a_stride, kind.a_batch_stride);
  plan->b =
      layout(kind.b_type, kind.k, kind.n, kind.b_transposed, kind.b_stride, kind.b_batch_stride);
  plan->d = layout(kind.d_type, kind.m, kind.n, false, kind.d_stride, kind.d_batch_stride);
  // The offered algorithms depend on the alignment of the bias and aux.
  Bind(product, plan->descriptor.get());
  const std::string* chosen = choices_.Find(kind.Text());
  if (chosen != nullptr) {
    plan->is_fused = *chosen != GemmChoices::kPassedOver;
    if (!*plan->is_fused || UseChosen(*chosen, *plan)) return plan;
  }
  const auto offered = Heuristics(*plan, kind, 1);
  if (!offered.empty()) plan->algorithm = offered.front().algo;
  return plan;
}

bool CublasLt::UseChosen(const std::string& encoded, Plan& plan) {
  const std::optional<cublasLtMatmulAlgo_t> algorithm = Decode(encoded);
  if (!algorithm) return false;
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(handle_, plan.descriptor.get(), plan.b.get(), plan.a.get(),
                              plan.d.get(), plan.d.get(), &*algorithm, &result);
  if (status != CUBLAS_STATUS_SUCCESS) return false;
  if (result.workspaceSize > static_cast<size_t>(kWorkspaceBytes)) return false;
  plan.algorithm = algorithm;
  return true;
}

std::vector<cublasLtMatmulHeuristicResult_t> CublasLt::Heuristics(const Plan& plan,
                                                                  const ProductKind& kind,
                                                                  int count_max) {
  cublasLtMatmulPreference_t preference = nullptr;
  Check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const Owned<cublasLtMatmulPreference_t> owned(preference);
  Set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kWorkspaceBytes));
  Set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, ReductionSchemes(kind.d_type));
  const auto align = [&](cublasLtMatmulPreferenceAttributes_t attribute, int bytes) {
    Set(preference, attribute, static_cast<uint32_t>(bytes));
  };
  align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kind.b_alignment);
  align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kind.a_alignment);
  align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kind.d_alignment);
  align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kind.d_alignment);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(count_max));
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_, plan.descriptor.get(), plan.b.get(), plan.a.get(), plan.d.get(), plan.d.get(),
      preference, count_max, results.data(), &found);
  results.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<size_t>(found) : 0);
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  return results;
}

cublasStatus_t CublasLt::Queue(const Product& product, Plan& plan,
                               const cublasLtMatmulAlgo_t& algorithm, cudaStream_t stream) {
  Bind(product, plan.descriptor.get());
  const float beta = product.accumulate ? 1 : 0;
  const void* added = product.added != nullptr ? product.added : product.d;
  return cublasLtMatmul(handle_, plan.descriptor.get(), &product.alpha, product.b.data,
                        plan.b.get(), product.a.data, plan.a.get(), &beta, added, plan.d.get(),
                        product.d, plan.d.get(), &algorithm, workspace_,
                        static_cast<size_t>(kWorkspaceBytes), stream);
}

std::string CublasLtVersion() {
  const size_t version = cublasLtGetVersion();
  return "cuBLASLt " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         "." + std::to_string(version % 100);
}

}  // namespace gp::engine
