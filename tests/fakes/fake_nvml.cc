// A fake of NVIDIA's management library: the functions that gp-worker calls, with the devices that
// a text file describes. $GP_FAKE_NVML names the file. It is read again at every call, so that a
// test can remove a GPU while programs run. Lines:
//
//   driver version=580.65.06 cuda=13000
//   init code=18                     nvmlInit returns this code
//   gpu uuid=GPU-a name=NVIDIA_H100 memory=85899345920 used=1024 utilization=37 temperature=41
//       power=350000 energy=1000 ecc=2 capability=9.0 lost=1 mig=MIG-a,MIG-b     (one line; only
//       uuid is required; "_" in the name stands for a blank; queries for a missing field return
//       NOT_SUPPORTED)
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Fields = std::map<std::string, std::string>;

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;
constexpr int kGpuIsLost = 15;
constexpr unsigned long kDevicesOfCard = 8;  // the card itself and up to seven MIG devices

struct Machine {
  Fields driver;
  Fields init;
  std::vector<Fields> gpus;
};

Machine ReadMachine() {
  Machine machine;
  const char* path = std::getenv("GP_FAKE_NVML");
  std::ifstream file(path == nullptr ? "" : path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    Fields fields;
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals != std::string::npos) fields[word.substr(0, equals)] = word.substr(equals + 1);
    }
    if (kind == "driver") machine.driver = fields;
    if (kind == "init") machine.init = fields;
    if (kind == "gpu") machine.gpus.push_back(fields);
  }
  return machine;
}

std::vector<std::string> MigUuids(const Fields& gpu) {
  std::vector<std::string> uuids;
  const auto found = gpu.find("mig");
  std::istringstream words(found == gpu.end() ? "" : found->second);
  for (std::string word; std::getline(words, word, ',');) uuids.push_back(word);
  return uuids;
}

// A handle is 1 + 8 * card + part; part 0 is the card.
struct Device {
  Fields fields;
  int code = kInvalidArgument;
  bool whole = true;
};

Device DeviceOf(const void* handle) {
  const Machine machine = ReadMachine();
  const auto number = reinterpret_cast<unsigned long>(handle);
  if (number == 0) return {};
  const size_t card = (number - 1) / kDevicesOfCard;
  const size_t part = (number - 1) % kDevicesOfCard;
  if (card >= machine.gpus.size()) return {{}, kGpuIsLost};
  Fields fields = machine.gpus[card];
  if (fields.contains("lost")) return {{}, kGpuIsLost};
  if (part == 0) return {fields, kSuccess};
  const auto uuids = MigUuids(fields);
  if (part > uuids.size()) return {{}, kGpuIsLost};
  Fields mig = {{"uuid", uuids[part - 1]}, {"name", fields["name"] + "_MIG"}, {"memory", "1024"}};
  return {mig, kSuccess, false};
}

void* HandleOf(unsigned long card, unsigned long part) {
  return reinterpret_cast<void*>(1 + card * kDevicesOfCard + part);
}

int Copy(const std::string& text, char* out, unsigned int size) {
  if (text.size() + 1 > size) return kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kSuccess;
}

int CopyField(const void* handle, const char* name, char* out, unsigned int size) {
  const Device device = DeviceOf(handle);
  if (device.code != kSuccess) return device.code;
  const auto found = device.fields.find(name);
  std::string text = found == device.fields.end() ? "" : found->second;
  if (std::strcmp(name, "name") == 0) {
    for (char& letter : text) letter = letter == '_' ? ' ' : letter;
  }
  return Copy(text, out, size);
}

template <typename T>
int Number(const void* handle, const char* name, T* out) {
  const Device device = DeviceOf(handle);
  if (device.code != kSuccess) return device.code;
  const auto found = device.fields.find(name);
  if (found == device.fields.end()) return kNotSupported;
  *out = static_cast<T>(std::stoull(found->second));
  return kSuccess;
}

struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned int gpu, memory;
};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  const Machine machine = ReadMachine();
  const auto code = machine.init.find("code");
  return code == machine.init.end() ? kSuccess : std::stoi(code->second);
}
int nvmlShutdown() { return kSuccess; }

const char* nvmlErrorString(int code) {
  switch (code) {
    case 9:
      return "Driver Not Loaded";
    case kGpuIsLost:
      return "GPU is lost";
    case 18:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

int nvmlSystemGetDriverVersion(char* out, unsigned int size) {
  return Copy(ReadMachine().driver["version"], out, size);
}
int nvmlSystemGetCudaDriverVersion_v2(int* out) {
  *out = std::atoi(ReadMachine().driver["cuda"].c_str());
  return kSuccess;
}

int nvmlDeviceGetCount_v2(unsigned int* out) {
  *out = static_cast<unsigned int>(ReadMachine().gpus.size());
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** out) {
  *out = HandleOf(index, 0);
  return DeviceOf(*out).code;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** out) {
  const Machine machine = ReadMachine();
  for (size_t card = 0; card < machine.gpus.size(); ++card) {
    const auto parts = MigUuids(machine.gpus[card]);
    for (size_t part = 0; part <= parts.size(); ++part) {
      if ((part == 0 ? machine.gpus[card].at("uuid") : parts[part - 1]) != uuid) continue;
      *out = HandleOf(card, part);
      return DeviceOf(*out).code;
    }
  }
  return kNotFound;
}

int nvmlDeviceGetUUID(void* device, char* out, unsigned int size) {
  return CopyField(device, "uuid", out, size);
}
int nvmlDeviceGetName(void* device, char* out, unsigned int size) {
  return CopyField(device, "name", out, size);
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* out) {
  *out = {};
  const int code = Number(device, "memory", &out->total);
  if (code != kSuccess) return code;
  if (Number(device, "used", &out->used) != kSuccess) out->used = 0;
  out->free = out->total - out->used;
  return kSuccess;
}

int nvmlDeviceGetCudaComputeCapability(void* handle, int* major, int* minor) {
  const Device device = DeviceOf(handle);
  if (device.code != kSuccess) return device.code;
  const auto found = device.fields.find("capability");
  if (found == device.fields.end()) return kNotSupported;
  *major = std::stoi(found->second);
  *minor = std::stoi(found->second.substr(found->second.find('.') + 1));
  return kSuccess;
}

int nvmlDeviceGetUtilizationRates(void* device, Utilization* out) {
  *out = {};
  return Number(device, "utilization", &out->gpu);
}
int nvmlDeviceGetTemperature(void* device, int sensor, unsigned int* out) {
  return sensor == 0 ? Number(device, "temperature", out) : kInvalidArgument;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned int* out) {
  return Number(device, "power", out);
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* out) {
  return Number(device, "energy", out);
}
int nvmlDeviceGetTotalEccErrors(void* device, int type, int counter, unsigned long long* out) {
  return type == 1 && counter == 0 ? Number(device, "ecc", out) : kInvalidArgument;
}

int nvmlDeviceGetMigMode(void* handle, unsigned int* current, unsigned int* pending) {
  const Device device = DeviceOf(handle);
  if (device.code != kSuccess) return device.code;
  if (!device.whole) return kInvalidArgument;
  *current = *pending = device.fields.contains("mig") ? 1 : 0;
  return kSuccess;
}
int nvmlDeviceGetMaxMigDeviceCount(void* handle, unsigned int* out) {
  *out = DeviceOf(handle).fields.contains("mig") ? kDevicesOfCard - 1 : 0;
  return kSuccess;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void* card, unsigned int index, void** out) {
  const Device device = DeviceOf(card);
  if (device.code != kSuccess) return device.code;
  if (index >= MigUuids(device.fields).size()) return kNotFound;
  *out = reinterpret_cast<void*>(reinterpret_cast<unsigned long>(card) + 1 + index);
  return kSuccess;
}

}  // extern "C"
