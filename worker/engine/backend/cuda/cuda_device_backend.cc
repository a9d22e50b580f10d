// The device of a program that computes on NVIDIA GPUs.
#include <stdexcept>
#include <string>
#include <utility>

#include "worker/engine/backend/cuda/cuda_backend.h"
#include "worker/engine/backend/cuda/gemm_tuning.h"
#include "worker/engine/backend/cuda/runtime/cuda_device.h"
#include "worker/engine/backend/cuda/runtime/runtime.h"
#include "worker/engine/backend/device_backend.h"

namespace gp::engine {
namespace {

// A setting, named as in a run file. Settings that every supported card has are not listed.
struct Switch {
  const char* word;
  const char* feature;
};
constexpr Switch kSwitches[] = {{"fp32", "fp32"}, {"tf32", "tf32"}, {"bf16", "bf16"},
                                {"fp16", "fp16"}, {"fp8", "fp8"},   {"cudnn", "cudnn attention"}};

DeviceInfo Describe(const CudaDevice& device) {
  DeviceInfo info{.name = device.name,
                  .kernels = "cuda " + device.architecture(),
                  .memory_bytes = device.memory_bytes,
                  .tuning_prefix = GemmChoices(TuningDevice(device)).Encode()};
  for (const Switch& each : kSwitches) {
    const CudaSupport support = SupportOf(device, each.feature);
    if (!support.works) info.lacks.push_back({each.word, support.reason});
  }
  const GemmChoices tuned = ReadTunedGemms(TuningDevice(device));
  if (!tuned.empty()) info.tuning = tuned.Encode();
  return info;
}

DeviceInfo Look() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return Describe(QueryDevice(0));
  static_cast<void>(cudaGetLastError());
  return {.why_none =
              std::string(cudaGetErrorString(error == cudaSuccess ? cudaErrorNoDevice : error)) +
              "; " + WayOutOf(error == cudaSuccess ? cudaErrorNoDevice : error)};
}

CudaBackendOptions OptionsOf(const DeviceBackendOptions& options) {
  return {.shape = options.shape,
          .arena = options.arena,
          .tf32 = options.precision == runspec::Precision::kTf32,
          .fp8 = options.precision == runspec::Precision::kFp8,
          .deterministic = options.deterministic,
          .graphs = options.graph};
}

GemmChoices ParseRecord(const std::string& record, const std::string& here) {
  GemmChoices choices = GemmChoices::Parse(record);
  if (choices.device() == here) return choices;
  throw std::invalid_argument("the run uses matrix-product algorithms chosen for " +
                              choices.device() + ", but this GPU is " + here +
                              "; train on that GPU model, or submit the run with deterministic: "
                              "true, which does not choose by timing");
}

// The choices of the record. When timing may decide, missing ones come from this device's cache or
// are timed now.
GemmChoices ChoicesFor(const std::string& record, const CudaBackendOptions& options,
                       const CudaDevice& device) {
  const std::string here = TuningDevice(device);
  const GemmChoices decided = record.empty() ? GemmChoices(here) : ParseRecord(record, here);
  if (options.deterministic) return decided;
  const GemmChoices remembered = ReadTunedGemms(here);
  GemmChoices known = remembered;
  known.Add(decided);
  GemmChoices tuned = TuneGemms(options, known);
  known.Add(tuned);
  // If they cannot be written, only the next start is slower.
  if (known != remembered) static_cast<void>(WriteTunedGemms(known));
  return tuned;
}

}  // namespace

DeviceInfo FindDevice() {
  static const DeviceInfo found = Look();
  DeviceInfo now = found;
  if (!now.exists()) return now;
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  CheckCuda(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  now.free_bytes = static_cast<int64_t>(free_bytes);
  return now;
}

DeviceBackend MakeDeviceBackend(const DeviceBackendOptions& options) {
  const DeviceInfo found = FindDevice();
  if (!found.exists()) throw std::invalid_argument(found.why_none);
  const CudaDevice device = QueryDevice(0);
  CudaBackendOptions cuda = OptionsOf(options);
  cuda.gemms = ChoicesFor(options.tuning, cuda, device);
  CudaBackendMade made = MakeCudaBackend(cuda);
  return {.backend = std::move(made.backend),
          .choices = {.tuning = cuda.gemms.empty() ? "" : cuda.gemms.Encode(),
                      .attention = made.attention,
                      .notes = made.notes}};
}

}  // namespace gp::engine
