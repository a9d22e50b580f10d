// Communicator: the collectives of one group of ranks (one epoch of one run). Implementations: TCP
// between processes, threads in one process (tests, and a training without peers), NCCL. Each
// passes tests/worker/engine/collectives/communicator_contract.h. Standard library only; errors are
// exceptions.
//
// Calls are made by one thread, in the same order on every rank. Abort may come from any thread at
// any time: it severs the group's connections, and every call in flight or later throws
// CollectiveError within milliseconds. A communicator that has thrown cannot be used any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "worker/engine/collectives/device_collectives.h"

namespace gp::engine {

// A peer was lost, aborted, stalled past the deadline, or belongs to another epoch. Names the peer
// and the operation.
class CollectiveError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The members of the group. `addresses[rank]` is host:port of each rank's listener; all of them
// share `secret`, which keeps out other epochs and other programs.
struct GroupOptions {
  std::string run_id;
  uint64_t epoch = 0;
  int rank = 0;
  int logical_shards = 1;  // V, a power of two >= the number of ranks
  std::vector<std::string> addresses;
  std::string secret;
  // TLS between the ranks, with keys from `secret`; memory shared on a machine is not encrypted.
  // All ranks of a group must agree.
  bool encrypted = false;
  // Ranks with equal names share memory (node_group.h); empty: this rank shares with no other.
  std::string machine;
  std::chrono::milliseconds connect_timeout{30000};
  // Longest wait for a peer inside one collective, until SetTimeout. During training
  // CollectiveTimeout sets it before every step.
  std::chrono::milliseconds timeout{120000};
  // The ranks come from an earlier group and learn of this one at different times. One that refuses
  // a connection may still wait for a group in between, so it is called again.
  bool regroups = false;
};

// One all-reduce of a sequence. The caller does not touch its memory until the sequence is done.
struct TreePart {
  std::span<float> values;
  std::vector<std::span<float>> partials;
};

// A sequence of all-reduces, whose parts another thread produces while earlier ones are in flight.
class TreeParts {
 public:
  virtual ~TreeParts() = default;

  // Readable when there is a part, or the end.
  virtual int fd() const = 0;
  // The next part, if there is one; does not wait.
  virtual std::optional<TreePart> Take() = 0;
  // Called when all parts taken so far are done; may repeat until the next Take.
  virtual void Idle() {}
  // Every part has been taken and no more will come.
  virtual bool ended() const = 0;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Zeroed memory for partial sums, which AllReduceTree then need not copy; lives as long as this
  // object. Empty when this memory gives no advantage.
  virtual std::span<float> Allocate(size_t count) = 0;

  // The minimum number of elements for which a separate AllReduceTree, called from another thread
  // while the caller computes, is worthwhile. 0 if it never is, because AllReduceTree needs the
  // caller's cores and not a network.
  virtual size_t overlap_elements() const = 0;

  // values := the sum over V logical shards in one fixed binary tree, bit-equal on every rank and
  // for every world size (through NCCL only if the run is deterministic; else only bit-equal on
  // every rank). The caller passes, in `partials`, the sum of each maximal aligned subtree
  // of the shards that it owns (a rank with shards [first, first + count) passes them in ascending
  // order; see shard_plan.h); each span has values.size() elements and may be overwritten. `values`
  // may alias partials[0].
  virtual void AllReduceTree(std::span<float> values,
                             const std::vector<std::span<float>>& partials) = 0;

  // AllReduceTree of each part, in order, which is the same on every rank. Returns when `parts` has
  // ended and all of them are done. Over TCP, if no two ranks share memory, parts are in flight
  // concurrently: a later one does not wait for the round trip of an earlier one.
  virtual void AllReduceParts(TreeParts& parts);

  // Element-wise exact maximum on every rank; for flags and counters. NaN may be lost.
  virtual void AllReduceMax(std::span<double> values) = 0;

  // Copies rank `root`'s `bytes` to every rank.
  virtual void Broadcast(std::span<std::byte> bytes, int root) = 0;

  // Copies the `bytes` of rank `from` to the ranks `to`; the other ranks return at once, and their
  // `bytes` may be of any size. Every rank of the group calls it with the same ranks. Not on GPUs,
  // whose ranks never join a group.
  virtual void CopyTo(std::span<std::byte> bytes, int from, const std::vector<int>& to);

  virtual void Barrier() = 0;

  // Sets the longest wait for a peer in later collectives; it replaces GroupOptions::timeout.
  virtual void SetTimeout(std::chrono::milliseconds timeout) = 0;

  virtual void Abort(const std::string& reason) = 0;

  // Present when the ranks compute on GPUs: `values` and `partials` above are then device memory.
  virtual DeviceCollectives* device() { return nullptr; }
};

}  // namespace gp::engine
