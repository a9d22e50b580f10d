#include "rpc/status.h"

#include "gp/v1/error.pb.h"

namespace gp::rpc {
namespace {

// gRPC refuses metadata above 8 KiB by default, and the message travels percent-encoded (up to
// three bytes each).
constexpr size_t kMessageBytesMax = 2560;

std::string Shortened(std::string message) {
  if (message.size() <= kMessageBytesMax) return message;
  size_t end = kMessageBytesMax;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end;
  message.resize(end);
  return message + "\n... (message cut)";
}

// The payload of a Status that holds its reason.
constexpr char kReasonPayload[] = "gp/reason";
constexpr char kInfoType[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kDomain[] = "gp";

std::string DetailsOf(const grpc::Status& status, const std::string& reason) {
  v1::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(kDomain);
  v1::ErrorStatus whole;
  whole.set_code(status.error_code());
  whole.set_message(status.error_message());
  google::protobuf::Any& detail = *whole.add_details();
  detail.set_type_url(kInfoType);
  detail.set_value(info.SerializeAsString());
  return whole.SerializeAsString();
}

// Empty if the details hold none of ours.
std::string ReasonIn(const std::string& details) {
  v1::ErrorStatus whole;
  if (!whole.ParseFromString(details)) return "";
  for (const google::protobuf::Any& detail : whole.details()) {
    v1::ErrorInfo info;
    const bool is_info = detail.type_url() == kInfoType && info.ParseFromString(detail.value());
    if (is_info && info.domain() == kDomain) return info.reason();
  }
  return "";
}

}  // namespace

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const grpc::Status plain(static_cast<grpc::StatusCode>(status.code()),
                           Shortened(Message(status)));
  const std::string reason = ReasonOf(status);
  if (reason.empty()) return plain;
  return {plain.error_code(), plain.error_message(), DetailsOf(plain, reason)};
}

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return OkStatus();
  Status plain(static_cast<StatusCode>(status.error_code()), status.error_message());
  const std::string reason = ReasonIn(status.error_details());
  return reason.empty() ? plain : WithReason(std::move(plain), reason);
}

Status WithReason(Status status, const std::string& reason) {
  status.SetPayload(kReasonPayload, absl::Cord(reason));
  return status;
}

std::string ReasonOf(const Status& status) {
  const auto payload = status.GetPayload(kReasonPayload);
  return payload ? std::string(*payload) : "";
}

}  // namespace gp::rpc
