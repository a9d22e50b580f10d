// One line of metrics.jsonl, and of `gpctl metrics -o json`: a JSON object per step
// (docs/formats/metrics.md). Values and pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::formats {

// The name of a score: the validation loss in bits, for each byte of text.
inline constexpr char kBitsPerByte[] = "val_bpb";

// Where the time of a step went, in seconds: disjoint, their sum is the step's.
struct MetricsPhases {
  double data_wait = 0;
  double forward = 0;
  double backward = 0;
  double allreduce_exposed = 0;
  double optimizer = 0;
  double other = 0;

  bool operator==(const MetricsPhases&) const = default;
};

struct MetricsLine {
  int64_t step = 0;    // committed steps: the first line says 1
  int64_t tokens = 0;  // learned from since the start
  double loss = 0;
  double learning_rate = 0;
  double gradient_norm = 0;
  double tokens_per_second = 0;
  double mfu = 0;  // 0..1; 0 when the peak is unknown
  double step_seconds = 0;
  std::optional<double> validation_loss;
  bool skipped = false;  // the step was not finite and not applied
  std::optional<MetricsPhases> phases;
  double peak_flops = 0;    // what mfu is a fraction of; 0 when it is unknown
  std::string peak_source;  // "measured", "table"
  // The evaluation's other results by name: kBitsPerByte, TASK/STYLE/acc, TASK/STYLE/acc_norm.
  std::map<std::string, double> scores;

  bool operator==(const MetricsLine&) const = default;
};

// Without a newline. JSON has no NaN and no infinity: those become null.
std::string FormatMetricsLine(const MetricsLine& line);

// The reverse; null reads as NaN. InvalidArgument for anything that is not such a line; unknown
// keys are passed over.
StatusOr<MetricsLine> ParseMetricsLine(std::string_view text);

}  // namespace gp::formats
