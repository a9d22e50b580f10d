#include "client/gpctl/doctor/gpu_checks.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "client/gpctl/terminal/number_text.h"

namespace gp::gpctl {
namespace {

using SupportJson = nlohmann::json;  // what gp-trainer-cuda --support prints

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSharedMemoryLeast = 1024 * kMiB;
constexpr uint64_t kLockedMemoryLeast = 64 * kMiB;
constexpr double kCudaLeast = 12.8;  // the oldest toolkit that builds gp-trainer-cuda

std::string Text(const SupportJson& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

uint64_t Number(const SupportJson& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

const SupportJson& List(const SupportJson& json, const char* key) {
  static const SupportJson kEmpty = SupportJson::array();
  const auto found = json.find(key);
  return found != json.end() && found->is_array() ? *found : kEmpty;
}

// `driver`: as "580.65.06, CUDA 13.0".
Check CheckDriver(const std::string& driver) {
  Check check{.subject = "GPU driver", .finding = driver};
  const size_t cuda = driver.find("CUDA ");
  if (cuda == std::string::npos || std::atof(driver.c_str() + cuda + 5) < kCudaLeast) {
    check.grade = Grade::kFail;
    check.fix =
        "gp-trainer-cuda needs a driver for CUDA 12.8, or in the default build for CUDA 13: "
        "install an NVIDIA driver of the 580 series or later";
  }
  return check;
}

Check CheckGpu(const SupportJson& gpu) {
  Check check{
      .subject = Text(gpu, "slot"),
      .finding = fmt::format("{}, {}, compute capability {}", Text(gpu, "name"),
                             Bytes(Number(gpu, "memory_bytes")), Text(gpu, "compute_capability"))};
  const std::string problem = Text(gpu, "problem");
  if (problem.empty()) return check;
  check.grade = Grade::kFail;
  const size_t end = problem.find("; ");
  check.finding += ": " + problem.substr(0, end);
  check.fix = end == std::string::npos ? "see the log of gp-worker" : problem.substr(end + 2);
  return check;
}

Check CheckProblem(const std::string& problem) {
  const size_t end = problem.rfind("; ");
  return {Grade::kFail, "GPU driver", problem.substr(0, end),
          end == std::string::npos ? "reinstall the NVIDIA driver" : problem.substr(end + 2)};
}

// The grade of a missing library: attention works without cuDNN, and one GPU works without NCCL.
Grade GradeWithout(const std::string& library, int gpus) {
  const bool spare = library == "cuDNN" || (library == "NCCL" && gpus < 2);
  return spare ? Grade::kWarning : Grade::kFail;
}

Check CheckLibrary(const SupportJson& library, int gpus) {
  Check check{.subject = Text(library, "name"), .finding = Text(library, "version")};
  const std::string problem = Text(library, "problem");
  if (problem.empty()) return check;
  check.grade = GradeWithout(check.subject, gpus);
  check.finding = problem;
  check.fix = "scripts/bootstrap --cuda installs it; LD_LIBRARY_PATH may lead to it";
  return check;
}

// A mode that a device lacks is not a failure; the check names the alternative.
Check CheckMode(const SupportJson& mode) {
  const bool works = mode.value("works", false);
  return {.subject = "  " + Text(mode, "name"),
          .finding = works ? "works" : "off: " + Text(mode, "why")};
}

}  // namespace

GpuFindings CheckGpus(const std::string& document) {
  const SupportJson json = SupportJson::parse(document, nullptr, false);
  if (!json.is_object()) {
    return {{{Grade::kWarning, "GPU", "gp-worker does not say which GPUs it finds",
              "build it again: make programs"}},
            0};
  }
  GpuFindings findings;
  const std::string problem = Text(json, "problem");
  const std::string driver = Text(json, "driver");
  if (!driver.empty()) findings.checks.push_back(CheckDriver(driver));
  if (!problem.empty()) findings.checks.push_back(CheckProblem(problem));
  for (const SupportJson& gpu : List(json, "gpus")) {
    findings.checks.push_back(CheckGpu(gpu));
    ++findings.gpus;
  }
  if (findings.gpus == 0 && problem.empty()) {
    findings.checks.push_back({.subject = "GPU", .finding = "none found; runs train on the CPU"});
  }
  return findings;
}

std::vector<Check> CheckSupport(const std::string& document, int gpus) {
  const SupportJson json = SupportJson::parse(document, nullptr, false);
  if (!json.is_object()) {
    return {{Grade::kFail, "gp-trainer-cuda", "does not say what it supports",
             "build it again: cmake --build build/cuda --target gp-trainer-cuda"}};
  }
  std::vector<Check> checks;
  for (const SupportJson& library : List(json, "libraries")) {
    checks.push_back(CheckLibrary(library, gpus));
  }
  const SupportJson& devices = List(json, "devices");
  for (const SupportJson& device : devices) {
    checks.push_back({.subject = "support", .finding = Text(device, "name")});
    for (const SupportJson& mode : List(device, "modes")) checks.push_back(CheckMode(mode));
  }
  if (devices.empty()) {
    checks.push_back({Grade::kFail, "support", Text(json, "problem"),
                      "nvidia-smi shows whether the driver works; CUDA_VISIBLE_DEVICES may hide "
                      "the GPUs"});
  }
  return checks;
}

Check CheckSharedMemory(uint64_t bytes, int gpus) {
  Check check{.subject = "/dev/shm", .finding = Bytes(bytes)};
  if (bytes >= kSharedMemoryLeast || gpus < 2) return check;
  check.grade = Grade::kWarning;
  check.finding += "; NCCL may fail between processes";
  check.fix = "docker run --shm-size=8g, or an emptyDir with medium: Memory";
  return check;
}

Check CheckLockedMemory(uint64_t bytes) {
  const bool unlimited = bytes == ~uint64_t{0};
  Check check{.subject = "locked memory", .finding = unlimited ? "no limit" : Bytes(bytes)};
  if (bytes >= kLockedMemoryLeast) return check;
  check.grade = Grade::kWarning;
  check.finding += "; NCCL over InfiniBand fails";
  check.fix = "ulimit -l unlimited, or LimitMEMLOCK=infinity in the unit of gp-worker";
  return check;
}

}  // namespace gp::gpctl
