// Reads the samples that trainers write to a run's log while they train. Pure functions;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gp::client {

struct Sample {
  int64_t step = 0;
  std::string text;
};

// The sample in a trainer's log line (`... sample step=500 text="..."`); nullopt for any other
// line.
std::optional<Sample> ParseSampleLine(const std::string& line);

}  // namespace gp::client
