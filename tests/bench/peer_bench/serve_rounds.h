// The rounds of gp-peer-bench serve: runs several servers in turn, so that they have the same
// conditions on the machine, and reports their results. One thread calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/peer_bench/served_texts.h"
#include "worker/bench/report.h"

namespace gp::engine {

struct RoundOptions {
  int64_t streams = 1;
  int64_t texts = 1;
  int64_t prompt = 16;
  int64_t tokens = 64;
  int64_t vocabulary = 0;  // prompts have ids below this
  int rounds = 5;          // measured
  int warmup = 1;
};

// One server's results over all measured rounds.
struct ServedRounds {
  std::vector<double> tokens_per_second;    // by round
  std::vector<double> requests_per_second;  // by round
  std::vector<double> first_byte_ms;        // by text
};

// Returns one element per server. In every round each server writes the same texts; the order of
// the servers changes. Fails when a server wrote fewer tokens than requested: the rates would not
// be comparable.
StatusOr<std::vector<ServedRounds>> MeasureInTurn(const RoundOptions& options,
                                                  const std::vector<TextServer*>& servers);

// Distinct prompts, the same ones for the same round.
std::vector<std::vector<int32_t>> MakePrompts(const RoundOptions& options, int round);

// {"tokens_per_second", "requests_per_second", "first_byte_ms"}
Json ToJson(const ServedRounds& rounds);

}  // namespace gp::engine
