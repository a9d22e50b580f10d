// The program of a named peer and how it is started (tests/bench/peers). One thread calls.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/peer_bench/peer_process.h"

namespace gp::engine {

// A script of tests/bench/peers with its arguments.
struct PeerProgram {
  std::string script;       // "torch_step.py"
  std::string interpreter;  // "": .deps/peers/bin/python above gp-peer-bench, else python3
  std::vector<std::string> arguments;
};

// The nearest directory above this executable that holds `path`, joined with it.
std::optional<std::string> FindAboveProgram(const std::string& path);

// Starts the peer and waits until it is ready. This takes minutes if the peer compiles itself
// first.
StatusOr<PeerProcess> StartPeer(const PeerProgram& program);

}  // namespace gp::engine
