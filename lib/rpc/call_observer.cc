#include "rpc/call_observer.h"

#include <array>
#include <chrono>
#include <utility>

namespace gp::rpc {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

// Lives as long as its RPC.
class CallObserver final : public grpc::experimental::Interceptor {
 public:
  CallObserver(const ServerRpcInfo& info, const OnCallEnded& on_ended) : on_ended_(on_ended) {
    const std::string path = info.method();  // "/gp.v1.RunService/Submit"
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos || slash == 0) return;
    call_.service = path.substr(1, slash - 1);
    call_.method = path.substr(slash + 1);
    call_.streams = info.type() != ServerRpcInfo::Type::UNARY;
    call_.code = grpc::StatusCode::CANCELLED;
  }
  ~CallObserver() override {
    if (call_.method.empty()) return;
    if (call_.code == grpc::StatusCode::UNIMPLEMENTED) call_.service = call_.method = "unknown";
    const auto taken = std::chrono::steady_clock::now() - start_;
    call_.seconds = std::chrono::duration<double>(taken).count();
    on_ended_(call_);
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      call_.code = methods->GetSendStatus().error_code();
    }
    methods->Proceed();
  }

 private:
  const OnCallEnded& on_ended_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  EndedCall call_;
};

class Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(OnCallEnded on_ended) : on_ended_(std::move(on_ended)) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    return new CallObserver(*info, on_ended_);  // gRPC deletes it
  }

 private:
  const OnCallEnded on_ended_;
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeCallObserver(
    OnCallEnded on_ended) {
  return std::make_unique<Factory>(std::move(on_ended));
}

std::string CodeLabel(grpc::StatusCode code) {
  static constexpr std::array kLabels = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  const auto number = static_cast<size_t>(code);
  return number < kLabels.size() ? kLabels[number] : "Unknown";
}

}  // namespace gp::rpc
