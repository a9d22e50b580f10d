// Codec: converts durable events to and from the stored bytes (gp.store.v1.Record,
// docs/formats/store.md). Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

// REQUIRES: IsDurable(event).
std::string EncodeRecord(uint64_t sequence, const Event& event);

// DataLoss when the bytes are not a record, or are of an unknown kind.
StatusOr<StoredEvent> DecodeRecord(std::string_view bytes);

}  // namespace gp::coordinator
