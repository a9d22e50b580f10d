// Requests and responses as serialized bytes, as gRPC delivers them. The handler chooses the thread
// that parses and serializes them, and refuses a request that is too long before it is parsed.
// Thread-safe.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "base/check.h"
#include "base/status.h"

namespace gp::coordinator {

// Identifies the caller: the peer's address and the user agent, which differs for each channel. All
// connections to a Unix socket have the same peer address.
inline std::string CallerOf(const grpc::CallbackServerContext& context) {
  const auto agent = context.client_metadata().find("user-agent");
  if (agent == context.client_metadata().end()) return context.peer();
  return context.peer() + " " + std::string(agent->second.data(), agent->second.size());
}

inline Status CheckLength(const grpc::ByteBuffer& bytes, size_t bytes_max) {
  if (bytes.Length() <= bytes_max) return OkStatus();
  return InvalidArgument("the request has {} bytes; at most {} are read", bytes.Length(),
                         bytes_max);
}

template <typename Message>
StatusOr<Message> Parse(grpc::ByteBuffer bytes) {
  Message message;
  const grpc::Status status = grpc::SerializationTraits<Message>::Deserialize(&bytes, &message);
  if (!status.ok()) return InvalidArgument("the request cannot be parsed");
  return message;
}

template <typename Message>
grpc::ByteBuffer Serialize(const Message& message) {
  grpc::ByteBuffer bytes;
  bool own = false;
  const grpc::Status status = grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own);
  GP_CHECK(status.ok());
  return bytes;
}

}  // namespace gp::coordinator
