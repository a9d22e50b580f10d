#include "worker/engine/collectives/local_communicator.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include "worker/engine/collectives/reduction_order.h"

namespace gp::engine {
namespace {

// The shared state of a group: a barrier, and the buffers that members share between two barriers.
class Meeting {
 public:
  explicit Meeting(int world_size)
      : rank_count(world_size), floats(rank_count), doubles(rank_count) {}

  // Returns when every member has called it; throws when the group is broken or a member does not
  // arrive in time.
  void Arrive(const char* operation, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (!broken_.empty()) throw CollectiveError(std::string(operation) + ": " + broken_);
    const uint64_t round = round_;
    if (++arrived_ == rank_count) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return;
    }
    const auto met_or_broken = [&] { return round_ != round || !broken_.empty(); };
    if (!changed_.wait_for(lock, timeout, met_or_broken)) {
      broken_ = "a rank did not arrive within the timeout";
      changed_.notify_all();
    }
    if (round_ == round) throw CollectiveError(std::string(operation) + ": " + broken_);
  }

  void Break(const std::string& reason) {
    std::lock_guard lock(mutex_);
    if (broken_.empty()) broken_ = reason;
    changed_.notify_all();
  }

  // Slot r is written by rank r before an Arrive and read by the others between that one and the
  // next.
  const size_t rank_count;
  std::vector<std::vector<std::span<float>>> floats;
  std::vector<std::span<double>> doubles;
  std::span<std::byte> root_bytes;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t arrived_ = 0;
  uint64_t round_ = 0;
  std::string broken_;
};

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(std::shared_ptr<Meeting> meeting, int rank, int logical_shards,
                    std::chrono::milliseconds timeout)
      : meeting_(std::move(meeting)),
        rank_(rank),
        timeout_(timeout),
        leaf_count_(AlignedSubtrees(OwnedShards(logical_shards, rank, size())).size()),
        order_(ReductionOrder(logical_shards, LeavesOfGroup(logical_shards, size()))) {}

  ~LocalCommunicator() override { meeting_->Break("rank " + std::to_string(rank_) + " is gone"); }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(meeting_->rank_count); }
  std::span<float> Allocate(size_t) override { return {}; }
  size_t overlap_elements() const override { return 0; }

  void AllReduceTree(std::span<float> values,
                     const std::vector<std::span<float>>& partials) override {
    if (partials.size() != leaf_count_) {
      throw std::logic_error("all-reduce: " + std::to_string(partials.size()) +
                             " partial sums, expected " + std::to_string(leaf_count_));
    }
    meeting_->floats[static_cast<size_t>(rank_)] = partials;
    Arrive("all-reduce");
    std::vector<std::span<float>> leaves;
    for (const auto& own : meeting_->floats) leaves.insert(leaves.end(), own.begin(), own.end());
    // Each rank finishes the tree for its part of the elements, in place.
    const auto ranks = meeting_->rank_count;
    const size_t first = values.size() * static_cast<size_t>(rank_) / ranks;
    const size_t end = values.size() * static_cast<size_t>(rank_ + 1) / ranks;
    for (const Addition& addition : order_) {
      AddInto(leaves[static_cast<size_t>(addition.into)].data() + first,
              leaves[static_cast<size_t>(addition.from)].data() + first, end - first);
    }
    Arrive("all-reduce");
    if (values.data() != leaves[0].data()) {
      std::memcpy(values.data(), leaves[0].data(), values.size_bytes());
    }
    Arrive("all-reduce");
  }

  void AllReduceMax(std::span<double> values) override {
    meeting_->doubles[static_cast<size_t>(rank_)] = values;
    Arrive("maximum");
    std::vector<double> largest(values.begin(), values.end());
    for (const auto& other : meeting_->doubles) {
      for (size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], other[i]);
    }
    Arrive("maximum");
    std::copy(largest.begin(), largest.end(), values.begin());
  }

  void Broadcast(std::span<std::byte> bytes, int root) override {
    if (rank_ == root) meeting_->root_bytes = bytes;
    Arrive("broadcast");
    if (rank_ != root) std::memcpy(bytes.data(), meeting_->root_bytes.data(), bytes.size());
    Arrive("broadcast");
  }

  void CopyTo(std::span<std::byte> bytes, int from, const std::vector<int>& to) override {
    if (rank_ == from) meeting_->root_bytes = bytes;
    Arrive("copy");
    if (std::find(to.begin(), to.end(), rank_) != to.end()) {
      std::memcpy(bytes.data(), meeting_->root_bytes.data(), bytes.size());
    }
    Arrive("copy");
  }

  void Barrier() override { Arrive("barrier"); }

  void SetTimeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }

  void Abort(const std::string& reason) override { meeting_->Break("aborted: " + reason); }

 private:
  void Arrive(const char* operation) { meeting_->Arrive(operation, timeout_); }

  const std::shared_ptr<Meeting> meeting_;
  const int rank_;
  std::chrono::milliseconds timeout_;
  const size_t leaf_count_;  // number of this rank's leaves
  const std::vector<Addition> order_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> MakeLocalGroup(int world_size, int logical_shards,
                                                          std::chrono::milliseconds timeout) {
  auto meeting = std::make_shared<Meeting>(world_size);
  std::vector<std::unique_ptr<Communicator>> group;
  for (int rank = 0; rank < world_size; ++rank) {
    group.push_back(std::make_unique<LocalCommunicator>(meeting, rank, logical_shards, timeout));
  }
  return group;
}

}  // namespace gp::engine
