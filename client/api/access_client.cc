#include "client/api/access_client.h"

#include <utility>

#include "base/clock.h"
#include "base/duration.h"
#include "base/random_id.h"
#include "client/api/request_text.h"
#include "rpc/channel.h"
#include "rpc/server_certificates.h"
#include "rpc/status.h"

namespace gp::client {
namespace {

constexpr std::chrono::seconds kExplanationTimeout{1};

}  // namespace

AccessClient::AccessClient(RunClientOptions options, Interruption& interruption)
    : options_(std::move(options)),
      interruption_(interruption),
      channel_(rpc::MakeChannel(options_.address, {.tls = options_.tls})),
      stub_(v1::AccessService::NewStub(channel_)) {}

void AccessClient::AwaitConnection() const {
  constexpr std::chrono::milliseconds kLook{100};  // how often to check for an interruption
  const auto deadline = std::chrono::steady_clock::now() + options_.timeout;
  while (!interruption_.requested() && std::chrono::steady_clock::now() < deadline) {
    const std::chrono::system_clock::time_point next = SystemClock().WallNow() + kLook;
    if (channel_->WaitForConnected(next)) return;
  }
}

Status AccessClient::Explain(const Status& status) const {
  if (interruption_.requested()) return Cancelled("interrupted");
  if (status.code() == StatusCode::kUnimplemented) {
    return FailedPrecondition(
        "the coordinator at {} is older than this gpctl and does not support tokens",
        options_.address);
  }
  if (status.code() != StatusCode::kUnavailable && status.code() != StatusCode::kDeadlineExceeded) {
    return status;
  }
  if (options_.tls) {
    RETURN_IF_ERROR(rpc::ExplainCertificates(options_.address, *options_.tls,
                                             SystemClock().WallNow(), kExplanationTimeout));
  }
  return Unavailable("the coordinator at {} did not answer within {} ({})", options_.address,
                     FormatDuration(options_.timeout), Message(status));
}

template <typename Call>
Status AccessClient::CallOnce(const Call& call) {
  RETURN_IF_ERROR(
      CheckTokenMayGo(options_.credentials, options_.address, options_.tls.has_value()));
  grpc::ClientContext context;
  Show(options_.credentials, context);
  // While the coordinator restarts, the call waits instead of failing at once.
  context.set_wait_for_ready(true);
  const std::chrono::system_clock::time_point deadline = SystemClock().WallNow() + options_.timeout;
  context.set_deadline(deadline);
  const auto scope = interruption_.OnRequest([&context] { context.TryCancel(); });
  const Status status = rpc::FromGrpc(call(context));
  if (status.ok() && options_.on_header) options_.on_header(rpc::ReadAnswerHeader(context));
  return Explain(status);
}

StatusOr<v1::WhoAmIResponse> AccessClient::WhoAmI() {
  v1::WhoAmIResponse response;
  RETURN_IF_ERROR(CallOnce(
      [&](grpc::ClientContext& context) { return stub_->WhoAmI(&context, {}, &response); }));
  return response;
}

StatusOr<v1::CreateTokenResponse> AccessClient::CreateToken(v1::CreateTokenRequest request) {
  RETURN_IF_ERROR(CheckTexts(request));
  if (request.request_id().empty()) request.set_request_id(RandomId(20));
  v1::CreateTokenResponse response;
  RETURN_IF_ERROR(CallOnce([&](grpc::ClientContext& context) {
    return stub_->CreateToken(&context, request, &response);
  }));
  return response;
}

StatusOr<v1::ListTokensResponse> AccessClient::ListTokens() {
  v1::ListTokensResponse response;
  RETURN_IF_ERROR(CallOnce(
      [&](grpc::ClientContext& context) { return stub_->ListTokens(&context, {}, &response); }));
  return response;
}

StatusOr<v1::TokenInfo> AccessClient::RevokeToken(const std::string& id) {
  v1::RevokeTokenRequest request;
  request.set_request_id(RandomId(20));
  request.set_id(id);
  RETURN_IF_ERROR(CheckTexts(request));
  v1::TokenInfo response;
  RETURN_IF_ERROR(CallOnce([&](grpc::ClientContext& context) {
    return stub_->RevokeToken(&context, request, &response);
  }));
  return response;
}

Status AccessClient::Audit(uint64_t after_sequence,
                           const std::function<bool(const std::string&)>& consumer) {
  RETURN_IF_ERROR(
      CheckTokenMayGo(options_.credentials, options_.address, options_.tls.has_value()));
  v1::AuditRequest request;
  request.set_after_sequence(after_sequence);
  grpc::ClientContext context;
  Show(options_.credentials, context);
  const auto scope = interruption_.OnRequest([&context] { context.TryCancel(); });
  AwaitConnection();
  const auto reader = stub_->Audit(&context, request);
  bool wanted = true;
  for (v1::AuditLine line; wanted && reader->Read(&line);) wanted = consumer(line.line());
  if (!wanted) context.TryCancel();
  const Status status = rpc::FromGrpc(reader->Finish());
  return wanted ? Explain(status) : OkStatus();
}

}  // namespace gp::client
