#include "coordinator/access/call_limits.h"

#include <algorithm>

namespace gp::coordinator {
namespace {

constexpr size_t kTokensRemembered = 1024;

}  // namespace

CallLimits::Usage& CallLimits::Refill(const std::string& token_id) {
  const MonotonicTime now = clock_.Now();
  const double most = 2.0 * options_.calls_per_second;
  if (tokens_.size() >= kTokensRemembered) ForgetTheIdle();
  const auto [found, is_new] =
      tokens_.emplace(token_id, Usage{.calls_left = most, .filled_at = now});
  Usage& usage = found->second;
  const double seconds = std::chrono::duration<double>(now - usage.filled_at).count();
  usage.calls_left = std::min(most, usage.calls_left + seconds * options_.calls_per_second);
  usage.filled_at = now;
  return usage;
}

void CallLimits::ForgetTheIdle() {
  const MonotonicTime now = clock_.Now();
  std::erase_if(tokens_, [&](const auto& entry) {
    return entry.second.streams == 0 && now - entry.second.filled_at > std::chrono::seconds(2);
  });
}

Status CallLimits::AdmitCall(const std::string& token_id) {
  MutexLock lock(mutex_);
  Usage& usage = Refill(token_id);
  if (usage.calls_left < 1) {
    return ResourceExhausted(
        "this token may make {} calls a second (limits.calls_per_second); wait a moment, then try "
        "again",
        options_.calls_per_second);
  }
  usage.calls_left -= 1;
  return OkStatus();
}

StatusOr<std::shared_ptr<void>> CallLimits::ReserveStream(const std::string& token_id) {
  MutexLock lock(mutex_);
  Usage& usage = Refill(token_id);
  if (usage.streams >= options_.streams) {
    return ResourceExhausted(
        "this token has {} streams open, the maximum (limits.streams); close some, then try again",
        usage.streams);
  }
  ++usage.streams;
  return std::shared_ptr<void>(this, [this, token_id](void*) { GiveBack(token_id); });
}

void CallLimits::GiveBack(const std::string& token_id) {
  MutexLock lock(mutex_);
  --tokens_.at(token_id).streams;
}

}  // namespace gp::coordinator
