#include <cublasLt.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "worker/engine/backend/cuda/emulation/cublas_lt_elements.h"
#include "worker/engine/backend/cuda/emulation/cublas_lt_speed.h"
#include "worker/engine/backend/cuda/emulation/work_queue.h"

struct cublasLtContext {};

struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type;
  int64_t rows;
  int64_t cols;
  int64_t ld;
  int32_t batch = 1;
  int64_t batch_stride = 0;
};

struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute;
  int32_t trans_a = CUBLAS_OP_N;
  int32_t trans_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  void* aux = nullptr;
  int64_t aux_ld = 0;
  const float* a_scale = nullptr;
  const float* b_scale = nullptr;
  int8_t fast_accumulation = 0;
};

struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t workspace_bytes = 0;
  uint32_t reduction_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignment_a = 256;
  uint32_t alignment_b = 256;
  uint32_t alignment_c = 256;
  uint32_t alignment_d = 256;
};

namespace gp::cuda_emulation {
namespace {

using Layout = cublasLtMatrixLayoutOpaque_t;
using Descriptor = cublasLtMatmulDescOpaque_t;
using Preference = cublasLtMatmulPreferenceOpaque_t;

// Indices of the words of a cublasLtMatmulAlgo_t.
enum Word { kMagic, kVariant, kProblem, kAlignments, kWorkspace };
constexpr uint64_t kMagicNumber = 0x6770'6c74'6661'6b65;
constexpr uint64_t kVariants = 3;
// The reduction scheme with which each variant combines partial sums.
constexpr uint32_t kSchemes[kVariants] = {CUBLASLT_REDUCTION_SCHEME_NONE,
                                          CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE,
                                          CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE};

struct Slowness {
  uint32_t epilogue = 0;
  int32_t seconds = 0;
};
std::atomic<Slowness> slowness = Slowness{};

struct Problem {
  Descriptor descriptor;
  Layout a, b, c, d;

  int64_t m() const { return d.rows; }
  int64_t n() const { return d.cols; }
  int64_t k() const { return descriptor.trans_a == CUBLAS_OP_N ? a.cols : a.rows; }
};

template <typename T>
cublasStatus_t Assign(T& field, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&field, value, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

// FNV-1a hash of the problem for which an algorithm was returned.
uint64_t Fingerprint(const Problem& p) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&](int64_t value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x100000001b3u;
  };
  for (const Layout* layout : {&p.a, &p.b, &p.c, &p.d}) {
    for (const int64_t value : {int64_t{layout->type}, layout->rows, layout->cols, layout->ld,
                                int64_t{layout->batch}, layout->batch_stride}) {
      mix(value);
    }
  }
  for (const int64_t value : {int64_t{p.descriptor.compute}, int64_t{p.descriptor.trans_a},
                              int64_t{p.descriptor.trans_b}, int64_t{p.descriptor.epilogue}}) {
    mix(value);
  }
  return hash;
}

bool ShapesFit(const Problem& p) {
  const auto rows = [](const Layout& l, int32_t op) { return op == CUBLAS_OP_N ? l.rows : l.cols; };
  const auto cols = [](const Layout& l, int32_t op) { return op == CUBLAS_OP_N ? l.cols : l.rows; };
  const auto& d = p.descriptor;
  return rows(p.a, d.trans_a) == p.m() && cols(p.b, d.trans_b) == p.n() &&
         cols(p.a, d.trans_a) == rows(p.b, d.trans_b) && p.c.rows == p.m() && p.c.cols == p.n() &&
         p.a.batch == p.d.batch && p.b.batch == p.d.batch && p.c.batch == p.d.batch;
}

// FP8 on NVIDIA's tensor cores needs both operands with contiguous k, and sizes in multiples of 16;
// it cannot multiply e5m2 by e5m2.
bool Fp8Fits(const Problem& p) {
  const bool mixed = p.a.type != CUDA_R_8F_E5M2 || p.b.type != CUDA_R_8F_E5M2;
  return IsFp8(p.b.type) && mixed && !IsFp8(p.d.type) && p.descriptor.trans_a == CUBLAS_OP_T &&
         p.descriptor.trans_b == CUBLAS_OP_N && p.m() % 16 == 0 && p.n() % 16 == 0 &&
         p.k() % 16 == 0 && p.descriptor.compute == CUBLAS_COMPUTE_32F;
}

bool TypesFit(const Problem& p) {
  if (p.c.type != p.d.type) return false;
  if (IsFp8(p.a.type)) return Fp8Fits(p);
  if (p.a.type != p.b.type) return false;
  return p.d.type == CUDA_R_32F || (p.a.type != CUDA_R_32F && p.d.type == p.a.type);
}

bool EpilogueFits(const Problem& p) {
  const Descriptor& d = p.descriptor;
  switch (d.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
      return true;
    case CUBLASLT_EPILOGUE_BIAS:
      return p.d.batch == 1;
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
      return p.d.batch == 1 && d.aux_ld % 8 == 0 && d.aux_ld >= p.m() &&
             reinterpret_cast<uintptr_t>(d.aux) % 16 == 0;
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
      return p.d.batch == 1 && !IsFp8(p.a.type) && d.aux_ld % 8 == 0 && d.aux_ld >= p.m() &&
             reinterpret_cast<uintptr_t>(d.aux) % 16 == 0;
    case CUBLASLT_EPILOGUE_BGRADB:
      return p.d.batch == 1 && !IsFp8(p.a.type);
    default:
      return false;
  }
}

cublasStatus_t Judge(const Problem& p) {
  if (!ShapesFit(p)) return CUBLAS_STATUS_INVALID_VALUE;
  return TypesFit(p) && EpilogueFits(p) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

float RoundToTf32(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  bits += 0xfff + (bits >> 13 & 1);
  return std::bit_cast<float>(bits & ~0x1fffu);
}

float Gelu(float x) {
  const float inner = 0.7978845608028654f * (x + 0.044715f * x * x * x);
  return 0.5f * x * (1 + std::tanh(inner));
}

float GeluGradient(float x) {
  const float tangent = std::tanh(0.7978845608028654f * (x + 0.044715f * x * x * x));
  const float slope = 0.7978845608028654f * (1 + 3 * 0.044715f * x * x);
  return 0.5f * (1 + tangent) + 0.5f * x * (1 - tangent * tangent) * slope;
}

// One queued product; copies everything except the matrices.
struct Call {
  Problem problem;
  float alpha;
  float beta;
  const void* a;
  const void* b;
  const void* c;
  void* d;
  uint32_t scheme;
  void* workspace;
  size_t workspace_bytes;

  void Run() const {
    const Slowness slow = slowness;
    if (slow.epilogue == problem.descriptor.epilogue) {
      PretendToTake(std::chrono::seconds(slow.seconds));
    }
    if (workspace_bytes > 0) std::memset(workspace, 0xff, workspace_bytes);
    for (int32_t i = 0; i < problem.d.batch; ++i) RunOne(i);
    if (problem.descriptor.epilogue == CUBLASLT_EPILOGUE_BGRADB) SumB();
  }

 private:
  // op(matrix) of batch entry i in fp32: `lines` vectors of length k.
  std::vector<float> Gather(const void* data, const Layout& layout, bool k_is_row,
                            int32_t i) const {
    const int64_t lines = k_is_row ? layout.cols : layout.rows;
    std::vector<float> values(static_cast<size_t>(lines * problem.k()));
    for (int64_t line = 0; line < lines; ++line) {
      for (int64_t k = 0; k < problem.k(); ++k) {
        const int64_t at =
            i * layout.batch_stride + (k_is_row ? k + line * layout.ld : line + k * layout.ld);
        float value = LoadElement(data, layout.type, at);
        if (problem.descriptor.compute == CUBLAS_COMPUTE_32F_FAST_TF32) value = RoundToTf32(value);
        values[static_cast<size_t>(line * problem.k() + k)] = value;
      }
    }
    return values;
  }

  static float Dot(const float* x, const float* y, int64_t count) {
    float sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += x[k] * y[k];
    return sum;
  }

  // Rounds a partial sum to the type in which the workspace stores it.
  float Kept(float part) const {
    if (scheme != CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE) return part;
    float memory = 0;
    StoreElement(&memory, problem.d.type, 0, part);
    return LoadElement(&memory, problem.d.type, 0);
  }

  float DotOf(const float* x, const float* y) const {
    if (scheme == CUBLASLT_REDUCTION_SCHEME_NONE) return Dot(x, y, problem.k());
    const int64_t half = problem.k() / 2;
    return Kept(Dot(x, y, half)) + Kept(Dot(x + half, y + half, problem.k() - half));
  }

  void RunOne(int32_t i) const {
    const Descriptor& descriptor = problem.descriptor;
    const auto a_values = Gather(a, problem.a, descriptor.trans_a == CUBLAS_OP_T, i);
    const auto b_values = Gather(b, problem.b, descriptor.trans_b == CUBLAS_OP_N, i);
    float scale = alpha;
    if (descriptor.a_scale != nullptr) scale *= *descriptor.a_scale;
    if (descriptor.b_scale != nullptr) scale *= *descriptor.b_scale;
    std::vector<float> sums(static_cast<size_t>(problem.m()));
    for (int64_t n = 0; n < problem.n(); ++n) {
      for (int64_t m = 0; m < problem.m(); ++m) {
        const float sum =
            DotOf(a_values.data() + m * problem.k(), b_values.data() + n * problem.k());
        sums[static_cast<size_t>(m)] += Store(i, m, n, scale * sum);
      }
    }
    if (descriptor.epilogue != CUBLASLT_EPILOGUE_DGELU_BGRAD) return;
    for (int64_t m = 0; m < problem.m(); ++m) {
      StoreElement(descriptor.bias, problem.d.type, m, sums[static_cast<size_t>(m)]);
    }
  }

  // Stores one result; returns its value before rounding.
  float Store(int32_t i, int64_t m, int64_t n, float value) const {
    const Descriptor& descriptor = problem.descriptor;
    const Layout& l = problem.d;
    const int64_t at = i * l.batch_stride + m + n * l.ld;
    const uint32_t epilogue = descriptor.epilogue;
    if (beta != 0) value += beta * LoadElement(c, l.type, at);
    if (epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) {
      value += LoadElement(descriptor.bias, l.type, m);
    }
    const int64_t aux_at = m + n * descriptor.aux_ld;
    if (epilogue == CUBLASLT_EPILOGUE_GELU_AUX || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) {
      StoreElement(descriptor.aux, l.type, aux_at, value);
      value = Gelu(value);
    }
    if (epilogue == CUBLASLT_EPILOGUE_DGELU || epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD) {
      value *= GeluGradient(LoadElement(descriptor.aux, l.type, aux_at));
    }
    StoreElement(d, l.type, at, value);
    return value;
  }

  void SumB() const {
    const auto values = Gather(b, problem.b, problem.descriptor.trans_b == CUBLAS_OP_N, 0);
    for (int64_t n = 0; n < problem.n(); ++n) {
      float sum = 0;
      for (int64_t k = 0; k < problem.k(); ++k) {
        sum += values[static_cast<size_t>(n * problem.k() + k)];
      }
      StoreElement(problem.descriptor.bias, problem.d.type, n, sum);
    }
  }
};

bool Aligned(const void* data, uint64_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % bytes == 0;
}

// Packs four powers of two, each at most 256, into one word.
uint64_t PackAlignments(const Preference& p) {
  return p.alignment_a | uint64_t{p.alignment_b} << 16 | uint64_t{p.alignment_c} << 32 |
         uint64_t{p.alignment_d} << 48;
}

bool AlignmentsHold(const cublasLtMatmulAlgo_t& algorithm, const Call& call) {
  const auto bytes = [&](int i) { return algorithm.data[kAlignments] >> (16 * i) & 0xffff; };
  return Aligned(call.a, bytes(0)) && Aligned(call.b, bytes(1)) && Aligned(call.c, bytes(2)) &&
         Aligned(call.d, bytes(3));
}

// The memory of a matrix: from its first element to one past its last.
struct Extent {
  const std::byte* begin;
  const std::byte* end;
};

Extent ExtentOf(const void* data, const Layout& l) {
  const auto* begin = static_cast<const std::byte*>(data);
  return {begin, begin + ((l.cols - 1) * l.ld + l.rows) * ElementBytes(l.type)};
}

bool Overlap(const Extent& a, const Extent& b) { return a.begin < b.end && b.begin < a.end; }

// A device runs the blocks of a product in any order, so one block could overwrite what another one
// has not read yet. Matrices of a batch may be interleaved.
bool ResultLiesApart(const Call& call) {
  const Problem& p = call.problem;
  if (p.d.batch > 1) return true;
  std::vector<Extent> written = {ExtentOf(call.d, p.d)};
  std::vector<Extent> read = {ExtentOf(call.a, p.a), ExtentOf(call.b, p.b)};
  if (p.descriptor.aux != nullptr && (p.descriptor.epilogue & 128) != 0) {
    Layout aux = p.d;
    aux.ld = p.descriptor.aux_ld;
    const bool is_read = (p.descriptor.epilogue & 64) != 0;
    (is_read ? read : written).push_back(ExtentOf(p.descriptor.aux, aux));
  }
  if (p.descriptor.epilogue == CUBLASLT_EPILOGUE_BGRADB ||
      p.descriptor.epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD) {
    const bool of_b = p.descriptor.epilogue == CUBLASLT_EPILOGUE_BGRADB;
    const Layout sums{.type = p.d.type, .rows = of_b ? p.n() : p.m(), .cols = 1, .ld = 0};
    written.push_back(ExtentOf(p.descriptor.bias, sums));
  }
  for (size_t i = 0; i < written.size(); ++i) {
    const auto overlaps = [&](const Extent& other) { return Overlap(written[i], other); };
    if (std::any_of(read.begin(), read.end(), overlaps)) return false;
    if (std::any_of(written.begin(), written.begin() + static_cast<ptrdiff_t>(i), overlaps)) {
      return false;
    }
  }
  return true;
}

bool PointersAreThere(const Call& call) {
  const Descriptor& d = call.problem.descriptor;
  const bool needs_aux = (d.epilogue & 128) != 0;
  const bool needs_vector =
      d.epilogue == CUBLASLT_EPILOGUE_BIAS || d.epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS ||
      d.epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD || d.epilogue == CUBLASLT_EPILOGUE_BGRADB;
  return call.a != nullptr && call.b != nullptr && call.d != nullptr &&
         (call.beta == 0 || call.c != nullptr) && (!needs_aux || d.aux != nullptr) &&
         (!needs_vector || d.bias != nullptr);
}

cublasStatus_t CheckAlgorithm(const cublasLtMatmulAlgo_t* algorithm, const Problem& problem) {
  if (algorithm == nullptr || algorithm->data[kMagic] != kMagicNumber ||
      algorithm->data[kVariant] >= kVariants) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const cublasStatus_t status = Judge(problem);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const bool fits = algorithm->data[kProblem] == Fingerprint(problem);
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasLtMatmulHeuristicResult_t Offer(const Problem& problem, const Preference& preference,
                                      uint64_t variant) {
  cublasLtMatmulHeuristicResult_t result{};
  result.workspaceSize = variant == 0 ? 0 : 4096;
  result.algo.data[kMagic] = kMagicNumber;
  result.algo.data[kVariant] = variant;
  result.algo.data[kProblem] = Fingerprint(problem);
  result.algo.data[kAlignments] = PackAlignments(preference);
  result.algo.data[kWorkspace] = result.workspaceSize;
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = 1;
  return result;
}

}  // namespace

void SlowDown(cublasLtEpilogue_t epilogue, std::chrono::seconds by) {
  slowness = {static_cast<uint32_t>(epilogue), static_cast<int32_t>(by.count())};
}

}  // namespace gp::cuda_emulation

using gp::cuda_emulation::Assign;
using gp::cuda_emulation::Call;
using gp::cuda_emulation::Problem;

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = std::make_unique<cublasLtContext>().release();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "unknown";
}

size_t cublasLtGetVersion() { return 130100; }

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
  if (layout == nullptr || rows == 0 || cols == 0 || ld < static_cast<int64_t>(rows)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *layout = new cublasLtMatrixLayoutOpaque_t{
      .type = type,
      .rows = static_cast<int64_t>(rows),
      .cols = static_cast<int64_t>(cols),
      .ld = ld,
  };
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return Assign(layout->batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return Assign(layout->batch_stride, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  if (descriptor == nullptr || scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
  *descriptor = new cublasLtMatmulDescOpaque_t{.compute = compute};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  delete descriptor;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  if (descriptor == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return Assign(descriptor->trans_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return Assign(descriptor->trans_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return Assign(descriptor->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return Assign(descriptor->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return Assign(descriptor->aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return Assign(descriptor->aux_ld, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return Assign(descriptor->a_scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return Assign(descriptor->b_scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
      return Assign(descriptor->fast_accumulation, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  if (preference == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  if (preference == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return Assign(preference->workspace_bytes, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return Assign(preference->reduction_schemes, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return Assign(preference->alignment_a, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return Assign(preference->alignment_b, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return Assign(preference->alignment_c, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return Assign(preference->alignment_d, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t descriptor,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int count_max,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* count) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *count = 0;
  if (count_max <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  const Problem problem{*descriptor, *a, *b, *c, *d};
  const cublasStatus_t status = Judge(problem);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  for (uint64_t variant = 0; variant < gp::cuda_emulation::kVariants; ++variant) {
    const uint32_t scheme = gp::cuda_emulation::kSchemes[variant];
    const auto offer = gp::cuda_emulation::Offer(problem, *preference, variant);
    if ((preference->reduction_schemes & scheme) != scheme) continue;
    if (offer.workspaceSize > preference->workspace_bytes) continue;
    if (*count < count_max) results[(*count)++] = offer;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const cublasStatus_t status =
      gp::cuda_emulation::CheckAlgorithm(algorithm, Problem{*descriptor, *a, *b, *c, *d});
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  result->algo = *algorithm;
  result->workspaceSize = algorithm->data[gp::cuda_emulation::kWorkspace];
  result->state = CUBLAS_STATUS_SUCCESS;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const Problem problem{*descriptor, *a_layout, *b_layout, *c_layout, *d_layout};
  const cublasStatus_t status = gp::cuda_emulation::CheckAlgorithm(algorithm, problem);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const size_t needed = algorithm->data[gp::cuda_emulation::kWorkspace];
  const uint64_t variant = algorithm->data[gp::cuda_emulation::kVariant];
  const Call call{.problem = problem,
                  .alpha = *static_cast<const float*>(alpha),
                  .beta = *static_cast<const float*>(beta),
                  .a = a,
                  .b = b,
                  .c = c,
                  .d = d,
                  .scheme = gp::cuda_emulation::kSchemes[variant],
                  .workspace = workspace,
                  .workspace_bytes = needed};
  const bool has_workspace = needed == 0 || (workspace != nullptr && workspace_bytes >= needed);
  if (!has_workspace || !gp::cuda_emulation::PointersAreThere(call) ||
      !gp::cuda_emulation::AlignmentsHold(*algorithm, call) ||
      !gp::cuda_emulation::ResultLiesApart(call)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const cudaError_t queued = gp::cuda_emulation::Submit(stream, [call] { call.Run(); });
  return queued == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
