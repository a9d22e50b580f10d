// Message <-> frame payload. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "link/messages.h"

namespace gp::link {

// The number of a message's type on the wire: its index in Message plus one. Types are only appended.
uint16_t TypeOf(const Message& message);

// Header and payload of one frame.
std::string EncodeFrame(const Message& message);

// DataLoss names the field that is missing or has the wrong type; Unimplemented for an unknown type.
StatusOr<Message> DecodePayload(uint16_t type, std::string_view payload);

}  // namespace gp::link
