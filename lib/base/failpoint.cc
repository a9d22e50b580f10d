#include "base/failpoint.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>

#include "base/check.h"

namespace gp {
namespace {

struct Armed {
  FailpointSetting setting;
  std::string once_path;  // GP_FAILPOINT_ONCE; empty: fails on every start
  std::atomic<uint64_t> passages{0};
};

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Armed& FromEnvironment() {
  // Never destroyed: a thread that hangs in the storage may outlive static destruction.
  static Armed& armed = *new Armed;
  static const bool parsed = [] {
    auto setting = ParseFailpoint(Environment("GP_FAILPOINT"));
    GP_CHECK(setting.ok(), "{}", Message(setting.status()));
    armed.setting = std::move(setting).value();
    armed.once_path = Environment("GP_FAILPOINT_ONCE");
    return true;
  }();
  GP_CHECK(parsed);
  return armed;
}

[[noreturn]] void Hang() {
  std::atomic<uint64_t> turns = 0;
  while (true) turns.fetch_add(1, std::memory_order_relaxed);
}

bool FirstTime(const std::string& once_path) {
  return once_path.empty() ||
         open(once_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644) >= 0;
}

}  // namespace

StatusOr<FailpointSetting> ParseFailpoint(std::string_view text) {
  FailpointSetting setting;
  if (text.empty()) return setting;
  const auto bad = [text] {
    return InvalidArgument("GP_FAILPOINT '{}': expected NAME:kill or NAME:hang, with @PASSAGE",
                           text);
  };
  const size_t colon = text.rfind(':');
  if (colon == 0 || colon == std::string_view::npos) return bad();
  setting.name = std::string(text.substr(0, colon));
  std::string_view action = text.substr(colon + 1);
  setting.hangs = action.starts_with("hang");
  if (!setting.hangs && !action.starts_with("kill")) return bad();
  action.remove_prefix(4);
  if (action.empty()) return setting;
  if (!action.starts_with('@')) return bad();
  action.remove_prefix(1);
  const auto [end, error] =
      std::from_chars(action.data(), action.data() + action.size(), setting.passage);
  if (error != std::errc() || end != action.data() + action.size() || setting.passage == 0) {
    return bad();
  }
  return setting;
}

void Failpoint(std::string_view name) {
  Armed& armed = FromEnvironment();
  if (name != armed.setting.name) return;
  if (armed.passages.fetch_add(1) + 1 != armed.setting.passage) return;
  if (!FirstTime(armed.once_path)) return;
  if (armed.setting.hangs) Hang();
  kill(getpid(), SIGKILL);
}

}  // namespace gp
