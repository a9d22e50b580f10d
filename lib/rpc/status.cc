#include "rpc/status.h"

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

}  // namespace

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), Shortened(Message(status))};
}

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return OkStatus();
  return Status(static_cast<StatusCode>(status.error_code()), status.error_message());
}

}  // namespace gp::rpc
