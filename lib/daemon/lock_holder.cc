#include "daemon/lock_holder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <sstream>

#include "base/file.h"

namespace gp::daemon {
namespace {

// Makes `text` one word of the lock file: a name with a space would be read as two words.
std::string Word(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isgraph(c) == 0; }, '_');
  return text;
}

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? Word(name.data()) : "";
}

std::string BootId() {
  std::string id = ReadFile("/proc/sys/kernel/random/boot_id", 4096).value_or("");
  if (!id.empty() && id.back() == '\n') id.pop_back();
  return Word(id);
}

std::string PidNamespace() {
  std::array<char, 64> link{};
  const ssize_t size = readlink("/proc/self/ns/pid", link.data(), link.size());
  return size > 0 ? Word(std::string(link.data(), static_cast<size_t>(size))) : "";
}

std::string UtcText(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds.time_since_epoch().count()));
}

}  // namespace

LockHolder LockHolder::Self(const Clock& clock) {
  return {.pid = getpid(),
          .host = HostName(),
          .boot_id = BootId(),
          .pid_namespace = PidNamespace(),
          .since = UtcText(clock.WallNow())};
}

LockHolder LockHolder::Parse(std::string_view text) {
  std::istringstream words{std::string(text)};
  LockHolder holder;
  if (!(words >> holder.pid)) return {};
  const std::pair<std::string_view, std::string*> fields[] = {
      {"host=", &holder.host},
      {"boot_id=", &holder.boot_id},
      {"pid_namespace=", &holder.pid_namespace},
      {"since=", &holder.since}};
  for (std::string word; words >> word;) {
    for (const auto& [key, value] : fields) {
      if (word.starts_with(key)) *value = Word(word.substr(key.size()));
    }
  }
  return holder;
}

std::string LockHolder::FileText() const {
  return fmt::format("{} host={} since={} pid_namespace={} boot_id={}", pid, host, since,
                     pid_namespace, boot_id);
}

std::string LockHolder::Description(const LockHolder& self) const {
  std::string text = fmt::format("process {}", pid);
  if (IsOnAnotherHost(self)) {
    text += fmt::format(" elsewhere: on host {}", host);
  } else if (IsElsewhere(self)) {
    text += fmt::format(" elsewhere: in another container of this machine, host name {}", host);
  }
  return since.empty() ? text : fmt::format("{}, since {}", text, since);
}

bool LockHolder::IsElsewhere(const LockHolder& self) const {
  return IsOnAnotherHost(self) || (!boot_id.empty() && pid_namespace != self.pid_namespace);
}

bool LockHolder::IsOnAnotherHost(const LockHolder& self) const {
  if (boot_id.empty()) return false;  // written by an older version
  return boot_id != self.boot_id && host != self.host;
}

}  // namespace gp::daemon
