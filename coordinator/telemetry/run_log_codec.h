// Points, lines and summaries as the stored bytes (gp.store.v1.StoredPoint, StoredLine,
// StoredSummary). Decoding returns nullopt when the bytes are not such a message. Pure;
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "coordinator/telemetry/run_log.h"

namespace gp::coordinator {

std::string EncodePoint(const contract::TrainingPoint& point);
std::optional<contract::TrainingPoint> DecodePoint(std::string_view bytes);
std::string EncodeLine(const Line& line);
std::optional<Line> DecodeLine(std::string_view bytes);
std::string EncodeSummary(const RunSummary& summary);
std::optional<RunSummary> DecodeSummary(std::string_view bytes);

}  // namespace gp::coordinator
