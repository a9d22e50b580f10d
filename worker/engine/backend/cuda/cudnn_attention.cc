#include "worker/engine/backend/cuda/cudnn_attention.h"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gp::engine {
namespace {

// dlopen for cudnn-frontend. cudnn-frontend fails on a machine with the CUDA runtimes of two major
// versions; with this function it finds only the one that this program is linked with.
void* OpenForCudnnFrontend(const char* name, int flags) {
  const std::string_view library = name;
  const std::string linked = "libcudart.so." + std::to_string(CUDART_VERSION / 1000);
  if (library.starts_with("libcudart.so.") && library != linked) return nullptr;
  return dlopen(name, flags);
}

}  // namespace
}  // namespace gp::engine

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define dlopen ::gp::engine::OpenForCudnnFrontend
#include <cudnn_frontend.h>
#undef dlopen

#include "worker/engine/backend/cuda/noise.h"
#include "worker/engine/backend/cuda/runtime.h"
#include "worker/engine/backend/cuda/timing.h"

// cudnn-frontend looks cuDNN's functions up through this handle.
namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace gp::engine {
namespace {

namespace fe = cudnn_frontend;
using TensorPointer = std::shared_ptr<fe::graph::Tensor_attributes>;

// Earlier releases compute wrong gradients at some sizes (NVIDIA's release notes of 9.15).
constexpr size_t kOldestVersion = 91500;

enum TensorId : int64_t { kQ = 1, kK, kV, kOut, kStats, kDout, kDq, kDk, kDv };

void Check(fe::error_t error, const char* what) {
  if (error.is_good()) return;
  throw std::runtime_error(std::string(what) + ": " + error.get_message());
}

void Check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(what) + ": " + fe::detail::get_error_string(status));
}

// Opened once per process and never closed: plans may outlive any of us.
void OpenLibrary() {
  static void* const handle = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) throw std::runtime_error(std::string("is not installed: ") + dlerror());
  fe::cudnn_dlhandle = handle;
  const size_t version = fe::detail::get_backend_version();
  if (version < kOldestVersion) {
    throw std::runtime_error("needs cuDNN " + std::to_string(kOldestVersion) +
                             " or newer, here is " + std::to_string(version));
  }
}

class CudnnHandle {
 public:
  CudnnHandle() { Check(fe::detail::create_handle(&handle_), "cudnnCreate"); }
  ~CudnnHandle() { static_cast<void>(fe::detail::destroy_handle(handle_)); }
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

// The tensors of one attention over packed rows: (B, H, T, D) seen with the strides of (B*T, 3*C)
// and (B*T, C).
class AttentionTensors {
 public:
  AttentionTensors(const AttentionShape& shape, fe::DataType_t type) : shape_(shape) {
    graph.set_io_data_type(type)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  TensorPointer Packed(TensorId id) { return Input(id, PackedStrides()); }
  TensorPointer Rows(TensorId id) { return Input(id, RowStrides()); }
  TensorPointer Stats() {
    auto attributes = Attributes(kStats, {shape_.heads * shape_.length, shape_.length, 1, 1});
    attributes.set_dim(StatsDimensions()).set_data_type(fe::DataType_t::FLOAT);
    return graph.tensor(attributes);
  }
  void OutputPacked(const TensorPointer& tensor, TensorId id) const {
    Output(tensor, id, PackedStrides());
  }
  void OutputRows(const TensorPointer& tensor, TensorId id) const {
    Output(tensor, id, RowStrides());
  }
  void OutputStats(const TensorPointer& tensor) const {
    tensor->set_output(true)
        .set_uid(kStats)
        .set_dim(StatsDimensions())
        .set_stride({shape_.heads * shape_.length, shape_.length, 1, 1})
        .set_data_type(fe::DataType_t::FLOAT);
  }

  fe::graph::Graph graph;

 private:
  std::vector<int64_t> Dimensions() const {
    return {shape_.sequences, shape_.heads, shape_.length, shape_.head_size};
  }
  std::vector<int64_t> StatsDimensions() const {
    return {shape_.sequences, shape_.heads, shape_.length, 1};
  }
  std::vector<int64_t> PackedStrides() const {
    const int64_t c = shape_.channels();
    return {3 * c * shape_.length, shape_.head_size, 3 * c, 1};
  }
  std::vector<int64_t> RowStrides() const {
    const int64_t c = shape_.channels();
    return {c * shape_.length, shape_.head_size, c, 1};
  }
  fe::graph::Tensor_attributes Attributes(TensorId id, const std::vector<int64_t>& strides) const {
    return fe::graph::Tensor_attributes().set_uid(id).set_dim(Dimensions()).set_stride(strides);
  }
  TensorPointer Input(TensorId id, const std::vector<int64_t>& strides) {
    return graph.tensor(Attributes(id, strides));
  }
  void Output(const TensorPointer& tensor, TensorId id, const std::vector<int64_t>& strides) const {
    tensor->set_output(true).set_uid(id).set_dim(Dimensions()).set_stride(strides);
  }

  const AttentionShape shape_;
};

float ScaleOf(const AttentionShape& shape) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_size)));
}

using TensorPointers = std::unordered_map<int64_t, void*>;

TensorPointers InputsOf(const AttentionShape& shape, Buffer qkv) {
  const int64_t c = shape.channels();
  return {{kQ, qkv.data}, {kK, qkv.From(c).data}, {kV, qkv.From(2 * c).data}};
}

TensorPointers PointersOf(const FlashForward& args) {
  TensorPointers tensors = InputsOf(args.shape, args.qkv);
  tensors[kOut] = args.out.data;
  tensors[kStats] = args.lse;
  return tensors;
}

TensorPointers PointersOf(const FlashBackward& args) {
  TensorPointers tensors = InputsOf(args.shape, args.qkv);
  tensors[kOut] = args.out.data;
  tensors[kDout] = args.dout.data;
  tensors[kStats] = const_cast<float*>(args.lse);
  const int64_t c = args.shape.channels();
  tensors[kDq] = args.dqkv.data;
  tensors[kDk] = args.dqkv.From(c).data;
  tensors[kDv] = args.dqkv.From(2 * c).data;
  return tensors;
}

fe::DataType_t TypeOf(const CudnnAttentionOptions& options) {
  return options.type == DataType::kFloat16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16;
}

// A graph is never moved: its nodes may know where it lies.
using TensorsMade = std::unique_ptr<AttentionTensors>;

TensorsMade ForwardTensors(const CudnnAttentionOptions& options) {
  auto made = std::make_unique<AttentionTensors>(options.shape, TypeOf(options));
  AttentionTensors& tensors = *made;
  const auto attributes = fe::graph::SDPA_attributes()
                              .set_name("attention")
                              .set_generate_stats(true)
                              .set_causal_mask(true)
                              .set_attn_scale(ScaleOf(options.shape));
  auto [out, stats] =
      tensors.graph.sdpa(tensors.Packed(kQ), tensors.Packed(kK), tensors.Packed(kV), attributes);
  tensors.OutputRows(out, kOut);
  tensors.OutputStats(stats);
  return made;
}

TensorsMade BackwardTensors(const CudnnAttentionOptions& options) {
  auto made = std::make_unique<AttentionTensors>(options.shape, TypeOf(options));
  AttentionTensors& tensors = *made;
  const auto attributes = fe::graph::SDPA_backward_attributes()
                              .set_name("attention_backward")
                              .set_causal_mask(true)
                              .set_attn_scale(ScaleOf(options.shape))
                              .set_deterministic_algorithm(options.deterministic);
  auto [dq, dk, dv] = tensors.graph.sdpa_backward(tensors.Packed(kQ), tensors.Packed(kK),
                                                  tensors.Packed(kV), tensors.Rows(kOut),
                                                  tensors.Rows(kDout), tensors.Stats(), attributes);
  tensors.OutputPacked(dq, kDq);
  tensors.OutputPacked(dk, kDk);
  tensors.OutputPacked(dv, kDv);
  return made;
}

// Makes the list of all plans that cuDNN offers, in the order of the speed that it expects.
void ListPlans(AttentionTensors& tensors, const CudnnHandle& handle) {
  fe::graph::Graph& graph = tensors.graph;
  Check(graph.validate(), "is described wrongly");
  Check(graph.build_operation_graph(handle.get()), "has no graph");
  Check(graph.create_execution_plans(
            {fe::HeurMode_t::A, fe::HeurMode_t::B, fe::HeurMode_t::FALLBACK}),
        "has no plan");
}

// Its place in that list and its engine, "2 eng5_k3=1": cuDNN's own names need not differ.
std::string NameOfPlan(const AttentionTensors& tensors, int64_t index) {
  std::string name;
  Check(tensors.graph.get_plan_name_at_index(index, name), "does not name its plan");
  return std::to_string(index) + " " + name;
}

// Builds the plan of this name; false when cuDNN does not offer it.
bool BuildNamed(AttentionTensors& tensors, const CudnnHandle& handle, const std::string& name) {
  ListPlans(tensors, handle);
  for (int64_t i = 0; i < tensors.graph.get_execution_plan_count(); ++i) {
    if (NameOfPlan(tensors, i) == name) return tensors.graph.build_plan_at_index(i).is_good();
  }
  return false;
}

// With the plan of this name, or the one that cuDNN expects to be the fastest.
TensorsMade Built(TensorsMade (*make)(const CudnnAttentionOptions&),
                  const CudnnAttentionOptions& options, const CudnnHandle& handle,
                  const std::string& plan) {
  if (!plan.empty()) {
    TensorsMade named = make(options);
    if (BuildNamed(*named, handle, plan)) return named;
  }
  TensorsMade first = make(options);
  Check(first->graph.build(handle.get(), {fe::HeurMode_t::A}), "has no plan");
  return first;
}

// What a plan is timed with.
struct TimedPass {
  const CudnnHandle& handle;
  const CudaStream& stream;
  const DeviceMemory& workspace;
};

// Queues the plan; false when it does not run.
bool RunPlan(const AttentionTensors& tensors, int64_t index, TensorPointers pointers,
             const TimedPass& pass) {
  return tensors.graph
      .execute_plan_at_index(pass.handle.get(), pointers, pass.workspace.data(), index)
      .is_good();
}

// Builds the plan; false when it does not compute this or needs too much memory.
bool IsCandidate(AttentionTensors& tensors, int64_t index, const TimedPass& pass) {
  if (tensors.graph.build_plan_at_index(index).is_bad()) return false;
  int64_t bytes = 0;
  return tensors.graph.get_workspace_size_plan_at_index(index, bytes).is_good() &&
         bytes <= pass.workspace.bytes();
}

// The name of the fastest, or of the first where that is not clear. Leaves the results of one of
// them.
std::string FastestPlan(AttentionTensors& tensors, const TensorPointers& pointers,
                        const TimedPass& pass) {
  ListPlans(tensors, pass.handle);
  std::string best;
  double best_milliseconds = 1e30;
  for (int64_t i = 0; i < tensors.graph.get_execution_plan_count(); ++i) {
    if (!IsCandidate(tensors, i, pass)) continue;
    bool runs = true;
    const double milliseconds =
        MillisecondsOf([&] { runs = runs && RunPlan(tensors, i, pointers, pass); }, pass.stream);
    if (!runs) static_cast<void>(cudaGetLastError());
    if (!runs || milliseconds >= best_milliseconds) continue;
    best_milliseconds = best.empty() ? milliseconds * kGainMin : milliseconds;
    best = NameOfPlan(tensors, i);
  }
  return best;
}

CudnnPlans FastestPlans(const CudnnAttentionOptions& options, int64_t workspace_bytes) {
  // Standard deviations as at the start of a training.
  constexpr float kQkv = 0.5f;
  constexpr float kGradient = 1;
  const AttentionShape& shape = options.shape;
  const int64_t values = shape.sequences * shape.length * shape.channels();
  const CudaStream stream;
  const CudnnHandle handle;
  Check(fe::detail::set_stream(handle.get(), stream.get()), "cudnnSetStream");
  const DeviceMemory workspace(workspace_bytes);
  const TimedPass pass{handle, stream, workspace};
  const Noise qkv(3 * values, options.type, kQkv, stream);
  const Noise dout(values, options.type, kGradient, stream);
  const Noise out(values, options.type, kGradient, stream);
  const Noise dqkv(3 * values, options.type, kGradient, stream);
  const DeviceMemory lse(shape.sequences * shape.heads * shape.length * 4);
  auto* const lse_floats = reinterpret_cast<float*>(lse.data());
  CudnnPlans plans;
  plans.forward =
      FastestPlan(*ForwardTensors(options),
                  PointersOf(FlashForward{
                      .shape = shape, .out = out.buffer(), .lse = lse_floats, .qkv = qkv.buffer()}),
                  pass);
  plans.backward = FastestPlan(*BackwardTensors(options),
                               PointersOf(FlashBackward{.shape = shape,
                                                        .dqkv = dqkv.buffer(),
                                                        .dout = dout.buffer(),
                                                        .out = out.buffer(),
                                                        .lse = lse_floats,
                                                        .qkv = qkv.buffer()}),
                               pass);
  stream.Synchronize();
  return plans;
}

class CudnnAttention final : public AttentionKernels {
 public:
  CudnnAttention(const CudnnAttentionOptions& options, ScratchMemory& scratch)
      : options_(options),
        forward_(Built(ForwardTensors, options, handle_, options.plans.forward)),
        backward_(Built(BackwardTensors, options, handle_, options.plans.backward)) {
    const int64_t needed = std::max(WorkspaceOf(*forward_), WorkspaceOf(*backward_));
    // `dots`, which the flash kernel uses and this one ignores, is before it in the scratch memory.
    const int64_t dots = options.shape.sequences * options.shape.heads * options.shape.length * 4;
    if (needed + dots + kPadding > scratch.bytes()) own_workspace_.emplace(needed);
    scratch_ = &scratch;
    name_ = "cudnn " + std::to_string(fe::detail::get_backend_version());
  }

  const char* name() const override { return name_.c_str(); }

  bool Takes(const AttentionShape& shape, DataType type, const Dropout& dropout) const override {
    return CudnnTakes(options_, shape, type, dropout);
  }

  int64_t device_bytes() const override { return own_workspace_ ? own_workspace_->bytes() : 0; }

  void Forward(const FlashForward& args, cudaStream_t stream) override {
    Execute(*forward_, PointersOf(args), stream);
  }

  void Backward(const FlashBackward& args, cudaStream_t stream) override {
    Execute(*backward_, PointersOf(args), stream);
  }

 private:
  static constexpr int64_t kPadding = 1024;

  static int64_t WorkspaceOf(const AttentionTensors& tensors) {
    int64_t bytes = 0;
    Check(tensors.graph.get_workspace_size(bytes), "does not say its workspace");
    return bytes;
  }

  void Execute(AttentionTensors& tensors, TensorPointers pointers, cudaStream_t stream) {
    void* workspace =
        own_workspace_ ? own_workspace_->data() : scratch_->Take<std::byte>(WorkspaceOf(tensors));
    Check(fe::detail::set_stream(handle_.get(), stream), "cudnnSetStream");
    Check(tensors.graph.execute(handle_.get(), pointers, workspace), "cuDNN attention failed");
  }

  const CudnnAttentionOptions options_;
  CudnnHandle handle_;
  const TensorsMade forward_;
  const TensorsMade backward_;
  std::optional<DeviceMemory> own_workspace_;
  ScratchMemory* scratch_ = nullptr;
  std::string name_;
};

}  // namespace

CudnnAttentionMade MakeCudnnAttention(const CudnnAttentionOptions& options,
                                      ScratchMemory& scratch) {
  const std::string refusal = WhyCudnnRefuses(options);
  if (!refusal.empty()) return {nullptr, refusal};
  try {
    OpenLibrary();
    return {std::make_unique<CudnnAttention>(options, scratch), ""};
  } catch (const std::exception& error) {
    return {nullptr, error.what()};
  }
}

CudnnPlans TimeCudnnPlans(const CudnnAttentionOptions& options, int64_t workspace_bytes) {
  if (!WhyCudnnRefuses(options).empty() || workspace_bytes <= 0) return {};
  try {
    OpenLibrary();
    return FastestPlans(options, workspace_bytes);
  } catch (const std::exception&) {
    return {};  // the choice of kernels says why
  }
}

}  // namespace gp::engine
