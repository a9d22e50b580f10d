// A round of load on a server of texts: so many streaming completions at a time until a number of
// them is written, over connections that are kept. One thread does it all (Boost.Asio), so that a
// client takes little of the cores that the server has.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace gp::engine {

struct TextLoad {
  uint16_t port = 0;  // on 127.0.0.1
  int64_t streams = 1;
  int64_t texts = 1;                         // written in the round
  std::function<std::string(int64_t)> body;  // JSON body of the request for text i
  std::string probe;                         // also GET this path every 20 ms; empty: do not
};

// Seconds since the round began.
struct TextTiming {
  double sent = 0;
  double first_byte = 0;  // when the first event arrived
  double finished = 0;
  int64_t tokens = 0;  // that the server says it wrote
};

struct LoadOutcome {
  std::vector<TextTiming> texts;  // in the order in which they ended
  std::vector<double> probe_ms;
};

// Ends with the first request that fails: Unavailable says which status or words the server gave.
StatusOr<LoadOutcome> RunTextLoad(const TextLoad& load);

}  // namespace gp::engine
