#include "client/gpctl/cluster/job_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "base/check.h"

namespace gp::gpctl {
namespace {

constexpr std::string_view kJobSet =
#include "client/gpctl/jobset.yaml.inc"
    ;

constexpr size_t kLabelCharactersMax = 63;
// Kubernetes adds the job, an index and a suffix to the JobSet's name to name its pods. These names
// must fit into a label, too.
constexpr size_t kSetCharactersMax = 36;
constexpr size_t kImagePrefixMax = 200;
constexpr int kCpusUnlessTold = 4;
constexpr int kGpusOfAMachine = 8;
constexpr int kCpusPerGpu = 4;
constexpr int kGigabytesPerCpu = 2;
constexpr int kGigabytesPerGpu = 32;

// The number of agents, and the resources of each.
struct AgentSize {
  int count = 1;  // agents
  int cpus = 1;
  int gpus = 0;
  std::string memory;
};

bool IsLabelCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

Status CheckLabel(const std::string& text, const std::string& flag) {
  const bool fits = !text.empty() && text.size() <= kLabelCharactersMax && text.front() != '-' &&
                    text.back() != '-' && std::all_of(text.begin(), text.end(), IsLabelCharacter);
  if (fits) return OkStatus();
  return InvalidArgument(
      "{} '{}': names in Kubernetes have 1 to {} lower-case letters, digits and '-'", flag, text,
      kLabelCharactersMax);
}

Status CheckMemory(const std::string& text) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const std::string unit = text.substr(digits);
  if (digits > 0 && digits < 10 && (unit == "Mi" || unit == "Gi" || unit == "Ti")) {
    return OkStatus();
  }
  return InvalidArgument("--memory '{}': expected a number with Mi, Gi or Ti, such as 16Gi", text);
}

Status CheckImagePrefix(const std::string& text) {
  const bool fits =
      text.size() <= kImagePrefixMax && std::all_of(text.begin(), text.end(), [](char c) {
        return IsLabelCharacter(c) || c == '.' || c == '/' || c == ':' || c == '_';
      });
  if (fits) return OkStatus();
  return InvalidArgument(
      "--image-prefix '{}': expected the beginning of an image's name, such as "
      "registry.example/",
      text);
}

Status CheckOptions(const JobSetOptions& options) {
  RETURN_IF_ERROR(CheckLabel(options.cluster_namespace, "--cluster-namespace"));
  if (!options.queue.empty()) RETURN_IF_ERROR(CheckLabel(options.queue, "--queue"));
  if (!options.memory.empty()) RETURN_IF_ERROR(CheckMemory(options.memory));
  return CheckImagePrefix(options.image_prefix);
}

StatusOr<AgentSize> OnGpus(const runspec::ResourceSpec& resources, int gpus_per_agent) {
  const int ranks = resources.workers;
  const int gpus = gpus_per_agent > 0 ? gpus_per_agent : std::min(ranks, kGpusOfAMachine);
  if (ranks % gpus != 0) {
    return InvalidArgument(
        "the run takes {} GPUs (resources.workers), which is not a multiple of {} GPUs per agent; "
        "choose another --gpus-per-agent",
        ranks, gpus);
  }
  return AgentSize{.count = ranks / gpus,
                   .cpus = gpus * std::max(kCpusPerGpu, resources.threads),
                   .gpus = gpus,
                   .memory = fmt::format("{}Gi", gpus * kGigabytesPerGpu)};
}

StatusOr<AgentSize> SizeOf(const runspec::ResourceSpec& resources, const JobSetOptions& options) {
  if (resources.device == "auto") {
    return InvalidArgument(
        "resources.device is auto, but agents must ask for GPUs or for none: add --set "
        "resources.device=gpu, or =cpu");
  }
  if (resources.device == "gpu") return OnGpus(resources, options.gpus_per_agent);
  if (options.gpus_per_agent > 0) {
    return InvalidArgument("--gpus-per-agent: the run computes on CPUs (resources.device)");
  }
  const int cpus = resources.threads > 0 ? resources.threads : kCpusUnlessTold;
  return AgentSize{.count = resources.workers,
                   .cpus = cpus,
                   .memory = fmt::format("{}Gi", cpus * kGigabytesPerCpu)};
}

// `text` as a Kubernetes name: invalid characters become '-'.
std::string SetName(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    name += IsLabelCharacter(lower) ? lower : '-';
  }
  if (name.empty() || name.front() < 'a') name = "run-" + name;
  if (name.size() > kSetCharactersMax) name.erase(0, name.size() - kSetCharactersMax);
  const auto is_dash = [](char c) { return c == '-'; };
  name.erase(name.begin(), std::find_if_not(name.begin(), name.end(), is_dash));
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() || name.front() < 'a' ? "r" + name : name;
}

// Replaces each ${key}. REQUIRES: `values` has every key of the text.
std::string Fill(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string filled;
  while (true) {
    const size_t begin = text.find("${");
    const size_t end = text.find('}', begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) break;
    filled += text.substr(0, begin);
    const std::string key(text.substr(begin + 2, end - begin - 2));
    const auto value = values.find(key);
    GP_CHECK(value != values.end(), "jobset.yaml.in names an unknown value: {}", key);
    filled += value->second;
    text.remove_prefix(end + 1);
  }
  return filled.append(text);
}

std::string LabelsOf(const std::string& queue) {
  const std::string part = "app.kubernetes.io/part-of: gp";
  return queue.empty() ? "{" + part + "}"
                       : fmt::format("{{{}, kueue.x-k8s.io/queue-name: \"{}\"}}", part, queue);
}

}  // namespace

StatusOr<std::string> JobSetText(const runspec::RunSpec& spec, const JobSetOptions& options,
                                 const std::string& name, const std::string& run) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(const AgentSize size, SizeOf(spec.resources, options));
  const bool gpu = size.gpus > 0;
  const auto image = [&](const std::string& program) {
    return fmt::format("{}{}:{}", options.image_prefix, program, GP_VERSION);
  };
  return Fill(kJobSet,
              {{"name", SetName(name)},
               {"namespace", options.cluster_namespace},
               {"labels", LabelsOf(options.queue)},
               {"agents", std::to_string(size.count)},
               {"node_selector", gpu ? "{nvidia.com/gpu.present: \"true\"}" : "{}"},
               {"tolerations",
                gpu ? "[{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]" : "[]"},
               {"worker_image", image(gpu ? "gp-worker-cuda" : "gp-worker")},
               {"client_image", image("gp-coordinator")},
               {"cpus", std::to_string(size.cpus)},
               {"memory", options.memory.empty() ? size.memory : options.memory},
               {"gpu_limit", gpu ? fmt::format(", nvidia.com/gpu: {}", size.gpus) : ""},
               {"shm", gpu ? "16Gi" : "2Gi"},
               {"run", run}});
}

}  // namespace gp::gpctl
