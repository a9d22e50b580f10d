#include "rpc/answer_header.h"

#include <charconv>
#include <map>
#include <string>
#include <utility>

namespace gp::rpc {
namespace {

using grpc::experimental::InterceptionHookPoints;

constexpr char kTimeKey[] = "gp-time-us";  // microseconds since 1970
constexpr char kInsecureKey[] = "gp-insecure";
constexpr int64_t kLastMicrosecond =
    253402300799 * 1'000'000;  // the last microsecond of the year 9999

class HeaderWriter final : public grpc::experimental::Interceptor {
 public:
  explicit HeaderWriter(const DescribeServer& describe) : describe_(describe) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      Write(describe_(), *methods->GetSendInitialMetadata());
    }
    methods->Proceed();
  }

 private:
  static void Write(const AnswerHeader& header, std::multimap<std::string, std::string>& to) {
    if (header.now) to.emplace(kTimeKey, std::to_string(header.now->time_since_epoch().count()));
    if (header.insecure) to.emplace(kInsecureKey, "1");
  }

  const DescribeServer& describe_;
};

class HeaderWriterFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit HeaderWriterFactory(DescribeServer describe) : describe_(std::move(describe)) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo*) override {
    return new HeaderWriter(describe_);  // gRPC deletes it
  }

 private:
  const DescribeServer describe_;
};

std::optional<WallTime> ParseTime(const grpc::string_ref& text) {
  int64_t microseconds = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), microseconds);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  if (microseconds < 0 || microseconds > kLastMicrosecond) return std::nullopt;
  return WallTime(std::chrono::microseconds(microseconds));
}

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeHeaderWriter(
    DescribeServer describe) {
  return std::make_unique<HeaderWriterFactory>(std::move(describe));
}

AnswerHeader ReadAnswerHeader(const grpc::ClientContext& context) {
  AnswerHeader header;
  const auto& metadata = context.GetServerInitialMetadata();
  const auto time = metadata.find(kTimeKey);
  if (time != metadata.end()) header.now = ParseTime(time->second);
  header.insecure = metadata.contains(kInsecureKey);
  return header;
}

}  // namespace gp::rpc
