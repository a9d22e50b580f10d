// `gp-bench step` with a peer, for programs that have peers. Used by main's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "worker/bench/bench_command.h"
#include "worker/bench/paired_samples.h"
#include "worker/engine/model/make_language_model.h"

namespace gp::engine {

// A peer whose steps alternate with ours; read after the flags are parsed.
struct StepPeer {
  std::string name;  // empty: no peer
  std::function<StatusOr<std::unique_ptr<Peer>>(const ModelOptions&)> start;
};

BenchRun AddStepCommandWithPeer(const Command& app, std::shared_ptr<const StepPeer> peer);

}  // namespace gp::engine
