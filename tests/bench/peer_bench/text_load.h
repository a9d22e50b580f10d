// One round of load on a server: streaming completions over kept-alive connections, a fixed number
// at a time, until `texts` of them are written. A single thread does all of it (Boost.Asio), so
// that the client takes little of the server's cores.
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
  int64_t tokens = 0;  // tokens that the server reports
};

struct LoadOutcome {
  std::vector<TextTiming> texts;  // in the order of completion
  std::vector<double> probe_ms;
};

// Ends at the first request that fails, with Unavailable and the server's status or message.
StatusOr<LoadOutcome> RunTextLoad(const TextLoad& load);

}  // namespace gp::engine
