#include "worker/engine/backend/cuda/attention/cudnn_attention.h"

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

#include "worker/engine/backend/cuda/runtime/runtime.h"

// cudnn-frontend finds cuDNN's functions through this handle.
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

// Opens cuDNN once per process and never closes it, because cuDNN's plans may outlive every object
// here.
void OpenLibrary() {
  static void* const handle = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) throw std::runtime_error(std::string("is not installed: ") + dlerror());
  fe::cudnn_dlhandle = handle;
  const size_t version = fe::detail::get_backend_version();
  if (version < kOldestVersion) {
    throw std::runtime_error("needs cuDNN " + std::to_string(kOldestVersion) + " or newer, found " +
                             std::to_string(version));
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

class CudnnAttention final : public AttentionKernels {
 public:
  CudnnAttention(const CudnnAttentionOptions& options, ScratchMemory& scratch)
      : options_(options), forward_(options.shape, Type()), backward_(options.shape, Type()) {
    BuildForward();
    BuildBackward();
    const int64_t needed = std::max(WorkspaceOf(forward_), WorkspaceOf(backward_));
    // In the scratch memory, `dots` lies before this workspace; the flash kernel uses it, cuDNN
    // does not.
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
    std::unordered_map<int64_t, void*> tensors = Inputs(args.qkv);
    tensors[kOut] = args.out.data;
    tensors[kStats] = args.lse;
    Execute(forward_, tensors, stream);
  }

  void Backward(const FlashBackward& args, cudaStream_t stream) override {
    std::unordered_map<int64_t, void*> tensors = Inputs(args.qkv);
    tensors[kOut] = args.out.data;
    tensors[kDout] = args.dout.data;
    tensors[kStats] = const_cast<float*>(args.lse);
    const int64_t c = args.shape.channels();
    tensors[kDq] = args.dqkv.data;
    tensors[kDk] = args.dqkv.From(c).data;
    tensors[kDv] = args.dqkv.From(2 * c).data;
    Execute(backward_, tensors, stream);
  }

 private:
  static constexpr int64_t kPadding = 1024;

  fe::DataType_t Type() const {
    return options_.type == DataType::kFloat16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16;
  }

  void BuildForward() {
    const auto attributes = fe::graph::SDPA_attributes()
                                .set_name("attention")
                                .set_generate_stats(true)
                                .set_causal_mask(true)
                                .set_attn_scale(ScaleOf(options_.shape));
    auto [out, stats] = forward_.graph.sdpa(forward_.Packed(kQ), forward_.Packed(kK),
                                            forward_.Packed(kV), attributes);
    forward_.OutputRows(out, kOut);
    forward_.OutputStats(stats);
    Build(forward_);
  }

  void BuildBackward() {
    const auto attributes = fe::graph::SDPA_backward_attributes()
                                .set_name("attention_backward")
                                .set_causal_mask(true)
                                .set_attn_scale(ScaleOf(options_.shape))
                                .set_deterministic_algorithm(options_.deterministic);
    auto [dq, dk, dv] = backward_.graph.sdpa_backward(
        backward_.Packed(kQ), backward_.Packed(kK), backward_.Packed(kV), backward_.Rows(kOut),
        backward_.Rows(kDout), backward_.Stats(), attributes);
    backward_.OutputPacked(dq, kDq);
    backward_.OutputPacked(dk, kDk);
    backward_.OutputPacked(dv, kDv);
    Build(backward_);
  }

  void Build(AttentionTensors& tensors) {
    Check(tensors.graph.build(handle_.get(), {fe::HeurMode_t::A}), "has no execution plan");
  }

  static int64_t WorkspaceOf(const AttentionTensors& tensors) {
    int64_t bytes = 0;
    Check(tensors.graph.get_workspace_size(bytes), "does not report its workspace size");
    return bytes;
  }

  std::unordered_map<int64_t, void*> Inputs(Buffer qkv) const {
    const int64_t c = options_.shape.channels();
    return {{kQ, qkv.data}, {kK, qkv.From(c).data}, {kV, qkv.From(2 * c).data}};
  }

  void Execute(AttentionTensors& tensors, std::unordered_map<int64_t, void*>& pointers,
               cudaStream_t stream) {
    void* workspace = own_workspace_ ? own_workspace_->data()
                                     : scratch_->Allocate<std::byte>(WorkspaceOf(tensors));
    Check(fe::detail::set_stream(handle_.get(), stream), "cudnnSetStream");
    Check(tensors.graph.execute(handle_.get(), pointers, workspace), "cuDNN attention failed");
  }

  const CudnnAttentionOptions options_;
  CudnnHandle handle_;
  AttentionTensors forward_;
  AttentionTensors backward_;
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

}  // namespace gp::engine
