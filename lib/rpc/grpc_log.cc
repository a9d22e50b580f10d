#include "rpc/grpc_log.h"

#include <grpc/support/log.h>

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/log.h"

namespace gp::rpc {
namespace {

constexpr int kLinesPerMinute = 10;

// The last part of a source file's path, such as "ssl_transport_security.cc".
std::string_view FileName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

void LogGrpcLine(gpr_log_func_args* line) {
  static LineBudget& budget = *new LineBudget(SystemClock(), kLinesPerMinute);
  const auto left_out = budget.Take();
  if (!left_out) return;
  LogWarning(
      "gRPC reported an error",
      {{"error", line->message}, {"file", FileName(line->file)}, {"left_out_before", *left_out}});
}

bool IsWantedWhole() {
  return std::getenv("GRPC_VERBOSITY") != nullptr || std::getenv("GRPC_TRACE") != nullptr;
}

}  // namespace

std::optional<uint64_t> LineBudget::Take() {
  const MonotonicTime now = clock_.Now();
  MutexLock lock(mutex_);
  if (!minute_ || now - *minute_ >= std::chrono::minutes(1)) {
    minute_ = now;
    taken_ = 0;
  }
  if (taken_ == lines_per_minute_) {
    ++left_out_;
    return std::nullopt;
  }
  ++taken_;
  return std::exchange(left_out_, 0);
}

void InstallGrpcLog() {
  if (!IsWantedWhole()) gpr_set_log_function(&LogGrpcLine);
}

void DropGrpcLog() {
  if (!IsWantedWhole()) gpr_set_log_function([](gpr_log_func_args*) {});
}

}  // namespace gp::rpc
