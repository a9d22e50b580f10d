// Messages between an engine process and its supervisor, in both directions: a header and payload
// of each type, and a whole stream through a Channel. Accepted messages are encoded and decoded
// again.
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "base/check.h"
#include "contract/channel.h"
#include "contract/codec.h"

namespace {

using namespace gp;
using namespace gp::link;

// Sends everything to one end of a Channel and closes it; the other end must report an error.
void TryStream(std::string_view bytes) {
  auto ends = Channel::MakePair();
  GP_CHECK(ends.ok());
  // What does not fit into the socket's buffer is not sent.
  (void)send(ends->first.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ends->first.Close();
  Channel channel(std::move(ends->second), "fuzz");
  size_t messages = 0;
  while (true) {
    const auto message = channel.Receive(std::chrono::seconds(1));
    if (!message.ok()) {
      GP_CHECK(!gp::Message(message.status()).empty());
      return;
    }
    GP_CHECK(message->has_value() && ++messages <= bytes.size() / kHeaderBytes);
  }
}

void TryPayload(uint16_t type, std::string_view payload) {
  const auto message = DecodePayload(type, payload);
  if (!message.ok()) {
    GP_CHECK(!gp::Message(message.status()).empty());
    return;
  }
  GP_CHECK(TypeOf(*message) == type);
  const std::string frame = EncodeFrame(*message);
  const auto header = DecodeHeader(std::string_view(frame).substr(0, kHeaderBytes));
  GP_CHECK(header.ok() && header->type == type);
  const auto again = DecodePayload(type, std::string_view(frame).substr(kHeaderBytes));
  GP_CHECK(again.ok(), "{}", frame.substr(kHeaderBytes));
  GP_CHECK(EncodeFrame(*again) == frame);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TryStream(bytes);
  if (size < 2) return 0;
  TryPayload(static_cast<uint16_t>(data[0] | data[1] << 8), bytes.substr(2));
  return 0;
}
