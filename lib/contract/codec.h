// Message <-> frame payload. The bytes are described in docs/formats/link.md. Pure functions,
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "contract/messages.h"

namespace gp::link {

// The header before each payload.
inline constexpr size_t kHeaderBytes = 8;
inline constexpr uint32_t kPayloadBytesMax = 16u << 20;

struct FrameHeader {
  uint32_t payload_bytes = 0;
  uint16_t type = 0;
};

// The number of a message's type on the wire. A number is never used again.
uint16_t TypeOf(const Message& message);

// Header and payload of one frame. Numbers that are not finite become null; invalid UTF-8 becomes
// U+FFFD. The payload may exceed kPayloadBytesMax; Channel::Send refuses it.
std::string EncodeFrame(const Message& message);

// DataLoss when the size is above the limit or the reserved field is not zero. REQUIRES:
// kHeaderBytes bytes.
StatusOr<FrameHeader> DecodeHeader(std::string_view bytes);

// DataLoss names the field that is missing or has the wrong type; Unimplemented for an unknown
// type.
StatusOr<Message> DecodePayload(uint16_t type, std::string_view payload);

}  // namespace gp::link
