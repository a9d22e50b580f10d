// One line of metrics.jsonl, and of `gpctl metrics -o json`: a JSON object per step, with the keys
// of contract::TrainingPoint's list (docs/formats/metrics.md). Pure functions; thread-safe.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/status.h"
#include "contract/training_point.h"

namespace gp::formats {

enum class MetricsKeys {
  kRecorded,  // those of metrics.jsonl
  kAll,       // also the fields that the service adds
};

// Numbers that are not finite become null. Scores whose names could collide with other keys are
// left out.
nlohmann::ordered_json MetricsJson(const contract::TrainingPoint& point, MetricsKeys keys);

// A line of metrics.jsonl, without a newline.
std::string FormatMetricsLine(const contract::TrainingPoint& point);

// Reads such a line; null gives NaN, and unknown keys are ignored. InvalidArgument for anything
// else.
StatusOr<contract::TrainingPoint> ParseMetricsLine(std::string_view text);

}  // namespace gp::formats
