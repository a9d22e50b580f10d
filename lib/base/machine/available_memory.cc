#include "base/machine/available_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/file.h"
#include "base/machine/control_group.h"

namespace gp {
namespace {

constexpr uint64_t kFigureBytesMax = 1 << 20;

std::optional<int64_t> ParseNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;  // "max", or nonsense
  return number;
}

std::string TextOf(const std::string& path) {
  const auto text = ReadFile(path, kFigureBytesMax);
  return text.ok() ? *text : "";
}

// The number after `name` in lines of "name number ...".
std::optional<int64_t> FieldOf(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string key, value;
    if (words >> key >> value && key == name) return ParseNumber(value);
  }
  return std::nullopt;
}

class Limits {
 public:
  // kFree subtracts the memory that is in use now; kAll does not.
  enum class Count { kFree, kAll };

  Limits(std::string root, Count count) : root_(std::move(root)), count_(count) {}

  AvailableMemory Least() {
    const std::string field = count_ == Count::kFree ? "MemAvailable" : "MemTotal";
    if (const auto kibibytes = FieldOf(TextOf(JoinPath(root_, "proc/meminfo")), field + ":")) {
      Limit(*kibibytes * 1024, field);
    }
    LimitByGroups();
    LimitByAddressSpace();
    return least_;
  }

 private:
  void Limit(int64_t bytes, const std::string& limit) {
    if (bytes >= least_.bytes) return;
    least_ = {std::max(bytes, int64_t{0}), limit};
  }

  void LimitByGroups() {
    for (const ControlGroup& group : ControlGroups("memory", root_)) {
      LimitByGroup(group, group.version == ControlGroup::Version::kV2 ? kVersion2 : kVersion1);
    }
  }

  struct GroupFiles {
    const char* limit;
    const char* usage;
    const char* reclaimable;  // a key of memory.stat: file pages that the kernel can drop
  };
  static constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};
  static constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                                        "total_inactive_file"};

  void LimitByGroup(const ControlGroup& group, const GroupFiles& files) {
    const auto limit = ParseNumber(TextOf(JoinPath(group.directory, files.limit)));
    const auto usage = ParseNumber(TextOf(JoinPath(group.directory, files.usage)));
    if (!limit || !usage) return;
    const int64_t used = count_ == Count::kAll ? 0 : *usage - FilesHeld(group.directory, files);
    Limit(*limit - used, std::string(files.limit) + " of " + group.path);
  }

  int64_t FilesHeld(const std::string& directory, const GroupFiles& files) const {
    return FieldOf(TextOf(JoinPath(directory, "memory.stat")), files.reclaimable).value_or(0);
  }

  void LimitByAddressSpace() {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    int64_t used = 0;
    if (count_ == Count::kFree) {
      const std::string status = TextOf(JoinPath(root_, "proc/self/status"));
      used = FieldOf(status, "VmSize:").value_or(0) * 1024;
    }
    Limit(static_cast<int64_t>(limit.rlim_cur) - used, "RLIMIT_AS");
  }

  const std::string root_;
  const Count count_;
  AvailableMemory least_{std::numeric_limits<int64_t>::max(), "no limit"};
};

}  // namespace

AvailableMemory ReadAvailableMemory(const std::string& root) {
  return Limits(root, Limits::Count::kFree).Least();
}

AvailableMemory ReadMemoryLimit(const std::string& root) {
  return Limits(root, Limits::Count::kAll).Least();
}

}  // namespace gp
