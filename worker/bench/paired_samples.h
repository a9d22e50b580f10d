// PairedSamples: durations of our work and of a peer's (another program), measured in alternating
// blocks so that both sides have the same conditions on the machine, and the ratio for each pair of
// blocks. One thread calls.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "base/status.h"
#include "worker/bench/report.h"

namespace gp::engine {

class Peer {
 public:
  virtual ~Peer() = default;
  // "torch 2.11.0 eager, fused AdamW, 2 threads".
  virtual const std::string& description() const = 0;
  // Milliseconds of each of `steps` further steps.
  virtual StatusOr<std::vector<double>> RunSteps(int steps) = 0;
};

struct PairedOptions {
  int repeats = 20;  // measured on each side, after warm-up
  int warmup = 3;
  int block = 5;  // repeats of one side before the other side's turn
};

// --steps, --warmup and --block.
void AddPairedFlags(const Command& app, PairedOptions& options);

struct PairedSamples {
  std::vector<double> ours_ms;
  std::vector<double> peer_ms;
  std::vector<double> ratios;  // peer's median over ours, block by block
};

// `ours` repeats the work as often as its argument says and returns the milliseconds of each
// repetition. Warm-up repetitions are dropped. With a null `peer`, only `ours` is measured.
StatusOr<PairedSamples> MeasurePaired(const PairedOptions& options,
                                      const std::function<std::vector<double>(int)>& ours,
                                      Peer* peer);
// The same for an `ours` that does the work once per call.
StatusOr<PairedSamples> MeasurePaired(const PairedOptions& options,
                                      const std::function<double()>& ours, Peer* peer);

// {"name", "description", "ms", "ratio_of_medians", "ratio_by_block"}
Json PeerJson(const std::string& name, const Peer& peer, const PairedSamples& samples);
// Prints two lines about an object from PeerJson to stdout.
void PrintPeer(const Json& peer);

}  // namespace gp::engine
