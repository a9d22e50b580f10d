#include "worker/agent/gpu/gpu_inventory.h"

#include <array>

namespace gp::agent {
namespace {

constexpr unsigned int kTextBytes = 96;  // NVML's longest answer, a UUID

// The value that `call` fills; nothing when the GPU does not offer it.
template <typename T, typename Call>
std::optional<T> Ask(Call&& call) {
  T value{};
  if (call(&value) != kNvmlSuccess) return std::nullopt;
  return value;
}

template <typename Call>
std::string AskText(Call&& call) {
  std::array<char, kTextBytes> text{};
  return call(text.data(), kTextBytes) == kNvmlSuccess ? std::string(text.data()) : "";
}

GpuDriver AskDriver(const NvmlFunctions& call) {
  GpuDriver driver;
  driver.version = AskText(call.system_driver_version);
  const int cuda = Ask<int>(call.system_cuda_driver_version).value_or(0);
  driver.cuda_version = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  return driver;
}

// A GPU that shares the processor's memory reports no memory of its own. That is not a problem.
NvmlReturn AskMemory(const NvmlFunctions& call, NvmlDevice device, NvmlMemory& memory) {
  const NvmlReturn code = call.device_memory(device, &memory);
  return code == kNvmlNotSupported ? kNvmlSuccess : code;
}

StatusOr<Gpu> AskGpu(const NvmlLibrary& nvml, NvmlDevice device, int index) {
  const NvmlFunctions& call = nvml.call();
  Gpu gpu{.index = index};
  gpu.uuid =
      AskText([&](char* text, unsigned int size) { return call.device_uuid(device, text, size); });
  gpu.name =
      AskText([&](char* text, unsigned int size) { return call.device_name(device, text, size); });
  NvmlMemory memory;
  const NvmlReturn code = AskMemory(call, device, memory);
  if (gpu.uuid.empty() || code != kNvmlSuccess) {
    return Unavailable("GPU {} does not answer: {}", index, nvml.Explain(code));
  }
  gpu.memory_bytes = memory.total;
  return gpu;
}

void FillCapability(const NvmlFunctions& call, NvmlDevice card, Gpu& gpu) {
  int major = 0;
  int minor = 0;
  if (call.device_compute_capability(card, &major, &minor) == kNvmlSuccess) {
    gpu.compute_capability = fmt::format("{}.{}", major, minor);
  }
}

bool IsCutIntoMig(const NvmlFunctions& call, NvmlDevice card) {
  unsigned int current = 0;
  unsigned int pending = 0;
  return call.device_mig_mode(card, &current, &pending) == kNvmlSuccess && current == 1;
}

// The card, or its MIG devices when it has any.
std::vector<NvmlDevice> DevicesOf(const NvmlFunctions& call, NvmlDevice card) {
  if (!IsCutIntoMig(call, card)) return {card};
  std::vector<NvmlDevice> devices;
  const unsigned int count = Ask<unsigned int>([&](unsigned int* value) {
                               return call.device_mig_count_max(card, value);
                             }).value_or(0);
  for (unsigned int i = 0; i < count; ++i) {
    NvmlDevice device = nullptr;
    // The card may have fewer MIG devices than possible, so some indices have none.
    if (call.device_mig_by_index(card, i, &device) == kNvmlSuccess) devices.push_back(device);
  }
  return devices;
}

// Adds the GPUs of one card. Unavailable when the card does not answer.
Status AddCard(const NvmlLibrary& nvml, unsigned int index, std::vector<Gpu>& gpus) {
  const NvmlFunctions& call = nvml.call();
  NvmlDevice card = nullptr;
  if (const NvmlReturn code = call.device_by_index(index, &card); code != kNvmlSuccess) {
    return Unavailable("GPU {} does not answer: {}", index, nvml.Explain(code));
  }
  for (const NvmlDevice device : DevicesOf(call, card)) {
    ASSIGN_OR_RETURN(Gpu gpu, AskGpu(nvml, device, static_cast<int>(index)));
    FillCapability(call, card, gpu);
    gpus.push_back(std::move(gpu));
  }
  return OkStatus();
}

std::vector<GpuNames> NamesOf(const std::vector<Gpu>& gpus) {
  std::vector<GpuNames> names;
  for (const Gpu& gpu : gpus) names.push_back({gpu.index, gpu.uuid});
  return names;
}

std::vector<Gpu> Chosen(const VisibleDevices& visible, const std::vector<Gpu>& gpus) {
  std::vector<Gpu> chosen;
  for (const size_t index : visible.Choose(NamesOf(gpus))) chosen.push_back(gpus[index]);
  return chosen;
}

// The problem if the setting names a GPU that this node does not have; empty if there is none.
std::string WhatIsMissing(const VisibleDevices& visible, const std::vector<Gpu>& gpus) {
  const auto missing = visible.FirstMissing(NamesOf(gpus));
  if (!missing) return "";
  return fmt::format(
      "--gpus (gpu.devices) names '{}', but there is no such GPU; it and the entries after it are "
      "not used; nvidia-smi -L lists the GPUs",
      *missing);
}

bool IsLost(NvmlReturn code) {
  return code == kNvmlGpuIsLost || code == kNvmlNotFound || code == kNvmlResetRequired;
}

GpuReading Unwell(const NvmlLibrary& nvml, const Gpu& gpu, NvmlReturn code) {
  GpuReading reading{.uuid = gpu.uuid, .lost = IsLost(code)};
  reading.problem =
      fmt::format("GPU {} ({}) does not answer: {}", gpu.index, gpu.name, nvml.Explain(code));
  if (reading.lost) {
    reading.problem +=
        "; look for NVRM in dmesg, reset it with nvidia-smi -r or reboot, then "
        "restart gp-worker";
  }
  return reading;
}

}  // namespace

StatusOr<GpuInventory> GpuInventory::Open(const std::string& library,
                                          const VisibleDevices& visible) {
  ASSIGN_OR_RETURN(auto nvml, NvmlLibrary::Open(library));
  GpuInventory inventory(std::move(nvml));
  inventory.driver_ = AskDriver(inventory.nvml_->call());
  RETURN_IF_ERROR(inventory.FindGpus(visible));
  return inventory;
}

// Leaves out a card that does not answer, and names it. The others can still be used.
Status GpuInventory::FindGpus(const VisibleDevices& visible) {
  unsigned int count = 0;
  if (const NvmlReturn code = nvml_->call().device_count(&count); code != kNvmlSuccess) {
    return FailedPrecondition("the GPUs cannot be counted: {}", nvml_->Explain(code));
  }
  std::vector<Gpu> gpus;
  for (unsigned int i = 0; i < count; ++i) {
    const Status status = AddCard(*nvml_, i, gpus);
    if (!status.ok()) problem_ += (problem_.empty() ? "" : ", ") + Message(status);
  }
  if (!problem_.empty()) problem_ += "; reset it with nvidia-smi -r, or reboot";
  // A card that was left out is already in problem_; do not also report it as missing.
  if (problem_.empty()) problem_ = WhatIsMissing(visible, gpus);
  gpus_ = Chosen(visible, gpus);
  return OkStatus();
}

std::vector<GpuReading> GpuInventory::Read() const {
  std::vector<GpuReading> readings;
  for (const Gpu& gpu : gpus_) readings.push_back(ReadOne(gpu));
  return readings;
}

GpuReading GpuInventory::ReadOne(const Gpu& gpu) const {
  const NvmlFunctions& call = nvml_->call();
  NvmlDevice device = nullptr;
  NvmlReturn code = call.device_by_uuid(gpu.uuid.c_str(), &device);
  NvmlMemory memory;
  if (code == kNvmlSuccess) code = AskMemory(call, device, memory);
  if (code != kNvmlSuccess) return Unwell(*nvml_, gpu, code);

  GpuReading reading{.uuid = gpu.uuid};
  if (memory.total > 0) reading.memory_used_bytes = memory.used;
  const auto ask = [&](auto function) {
    return [=](auto* value) { return function(device, value); };
  };
  if (const auto use = Ask<NvmlUtilization>(ask(call.device_utilization))) {
    reading.utilization_ratio = use->gpu / 100.0;
  }
  if (const auto power = Ask<unsigned int>(ask(call.device_power))) {
    reading.power_watts = *power / 1e3;
  }
  if (const auto energy = Ask<unsigned long long>(ask(call.device_energy))) {
    reading.energy_joules = static_cast<double>(*energy) / 1e3;
  }
  reading.temperature_celsius = Ask<unsigned int>(
      [&](unsigned int* value) { return call.device_temperature(device, 0, value); });
  reading.ecc_errors_uncorrected = Ask<unsigned long long>(
      [&](unsigned long long* value) { return call.device_ecc_errors(device, 1, 0, value); });
  return reading;
}

}  // namespace gp::agent
