// The device of a program that computes on NVIDIA GPUs.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// Off by default, because nothing has measured it yet; scripts/gpu_check measures the step both
// ways.
bool AddsInProducts() {
  const char* setting = std::getenv("GP_ADD_IN_PRODUCTS");
  return setting != nullptr && std::string_view(setting) == "1";
}

CudaBackendOptions OptionsOf(const DeviceBackendOptions& options) {
  return {.shape = options.shape,
          .arena = options.arena,
          .tf32 = options.precision == runspec::Precision::kTf32,
          .fp8 = options.precision == runspec::Precision::kFp8,
          .deterministic = options.deterministic,
          .graphs = options.graph,
          .adds_in_products = AddsInProducts()};
}

GemmChoices ParseRecord(const std::string& record, const std::string& here) {
  GemmChoices choices = GemmChoices::Parse(record);
  if (choices.device() == here) return choices;
  throw std::invalid_argument("the run uses matrix-product algorithms chosen for " +
                              choices.device() + ", but this GPU is " + here +
                              "; train on that GPU model, or submit the run with deterministic: "
                              "true, which does not choose by timing");
}

std::string DurationNote(size_t count, double seconds) {
  char text[120];
  std::snprintf(text, sizeof(text), "%zu kinds of matrix products were chosen by timing in %.1f s",
                count, seconds);
  return text;
}

// If they cannot be written, only the next start is slower.
void Keep(const GemmChoices& choices, std::vector<std::string>& notes) {
  try {
    WriteTunedGemms(choices);
  } catch (const std::runtime_error& error) {
    notes.push_back(
        std::string("the chosen matrix products cannot be kept, so the next run on this "
                    "machine times them again: ") +
        error.what());
  }
}

// The choices of the record. When timing may decide, missing ones come from this device's cache or
// are timed now.
GemmChoices ChoicesFor(const std::string& record, const CudaBackendOptions& options,
                       const CudaDevice& device, std::vector<std::string>& notes) {
  const std::string here = TuningDevice(device);
  const GemmChoices decided = record.empty() ? GemmChoices(here) : ParseRecord(record, here);
  if (options.deterministic) return decided;
  const GemmChoices remembered = ReadTunedGemms(here);
  GemmChoices known = remembered;
  known.Add(decided);
  const size_t count = known.size();
  const auto begin = std::chrono::steady_clock::now();
  GemmChoices tuned = TuneGemms(options, known);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  known.Add(tuned);
  if (known.size() > count) notes.push_back(DurationNote(known.size() - count, taken.count()));
  if (known != remembered) Keep(known, notes);
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
  std::vector<std::string> notes;
  cuda.gemms = ChoicesFor(options.tuning, cuda, device, notes);
  CudaBackendMade made = MakeCudaBackend(cuda);
  notes.insert(notes.end(), made.notes.begin(), made.notes.end());
  return {.backend = std::move(made.backend),
          .choices = {.tuning = cuda.gemms.empty() ? "" : cuda.gemms.Encode(),
                      .attention = made.attention,
                      .notes = std::move(notes)}};
}

}  // namespace gp::engine
