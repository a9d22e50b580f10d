// Replaces cuDNN's attention in the rehearsed programs: opens the library, accepts and refuses the
// same shapes as cuDNN, and computes with the flash kernels.
#include <dlfcn.h>

#include <memory>
#include <string>

#include "worker/engine/backend/cuda/attention/cudnn_attention.h"
#include "worker/engine/backend/cuda/attention/flash_attention.h"

namespace gp::engine {
namespace {

constexpr int kMajor = 9;  // of the emulated device's compute capability

class CudnnStandIn final : public AttentionKernels {
 public:
  CudnnStandIn(const CudnnAttentionOptions& options, size_t version)
      : options_(options), name_("cudnn " + std::to_string(version)) {}

  const char* name() const override { return name_.c_str(); }
  bool Takes(const AttentionShape& shape, DataType type, const Dropout& dropout) const override {
    return CudnnTakes(options_, shape, type, dropout);
  }
  void Forward(const FlashForward& args, cudaStream_t stream) override {
    kernels_.Forward(args, stream);
  }
  void Backward(const FlashBackward& args, cudaStream_t stream) override {
    kernels_.Backward(args, stream);
  }

 private:
  const CudnnAttentionOptions options_;
  const std::string name_;
  FlashAttention kernels_{kMajor};
};

// Stays loaded, as cuDNN does.
void* FindVersionFunction() {
  void* library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : dlsym(library, "cudnnGetVersion");
}

}  // namespace

CudnnAttentionMade MakeCudnnAttention(const CudnnAttentionOptions& options,
                                      ScratchMemory& /*scratch*/) {
  const std::string refusal = WhyCudnnRefuses(options);
  if (!refusal.empty()) return {nullptr, refusal};
  void* function = FindVersionFunction();
  if (function == nullptr) return {nullptr, std::string("is not installed: ") + dlerror()};
  const size_t version = reinterpret_cast<size_t (*)()>(function)();
  return {std::make_unique<CudnnStandIn>(options, version), ""};
}

}  // namespace gp::engine
