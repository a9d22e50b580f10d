// Runs ranks as threads of a test. An exception in a rank becomes a test failure that names the
// rank; otherwise it would end the program, and no later test would run.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

// Runs `body(rank)` for each of `count` ranks in its own thread, and waits for all. Calls `failed`
// if one throws.
inline void OnEachRank(
    size_t count, const std::function<void(size_t rank)>& body,
    const std::function<void()>& failed = [] {}) {
  std::vector<std::jthread> threads;
  for (size_t rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
        failed();
      }
    });
  }
}

// The same for the ranks of a group. If one throws, the group is aborted, so that no other rank
// waits for it.
inline void OnEachRank(const std::vector<std::unique_ptr<Communicator>>& group,
                       const std::function<void(size_t rank)>& body) {
  OnEachRank(group.size(), body, [&group] {
    for (const auto& member : group) {
      if (member) member->Abort("a rank failed");
    }
  });
}

}  // namespace gp::engine
