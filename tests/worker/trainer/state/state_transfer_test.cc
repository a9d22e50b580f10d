#include "worker/trainer/state/state_transfer.h"

#include <gtest/gtest.h>

#include "worker/engine/collectives/local_communicator.h"
#include "worker/engine/collectives/rank_threads.h"
#include "worker/engine/step/training_error.h"

namespace gp::engine {
namespace {

constexpr int kRanks = 4;
const Joining kJoining{.donor = 1, .ranks = {0, 3}};

// More than one piece.
std::vector<float> Values(float first) {
  std::vector<float> values(3'000'000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  return values;
}

// Passes everything on to another communicator, but changes one bit of the copy `at`.
class FlipsABit final : public Communicator {
 public:
  FlipsABit(Communicator& inner, int at) : inner_(inner), at_(at) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::span<float> Allocate(size_t) override { return {}; }
  size_t overlap_elements() const override { return 0; }
  void AllReduceTree(std::span<float>, const std::vector<std::span<float>>&) override {}
  void AllReduceMax(std::span<double> values) override { inner_.AllReduceMax(values); }
  void Broadcast(std::span<std::byte> bytes, int root) override { inner_.Broadcast(bytes, root); }
  void CopyTo(std::span<std::byte> bytes, int from, const std::vector<int>& to) override {
    inner_.CopyTo(bytes, from, to);
    if (calls_++ == at_) bytes[0] ^= std::byte{1};
  }
  void Barrier() override { inner_.Barrier(); }
  void SetTimeout(std::chrono::milliseconds timeout) override { inner_.SetTimeout(timeout); }
  void Abort(const std::string& reason) override { inner_.Abort(reason); }

 private:
  Communicator& inner_;
  const int at_;
  int calls_ = 0;
};

TEST(StateTransfer, GivesTheDonorsStateToTheRanksThatJoinAndToNoOther) {
  auto group = MakeLocalGroup(kRanks, kRanks);
  OnEachRank(group, [&](size_t rank) {
    const bool joins = rank == 0 || rank == 3;
    std::vector<float> first = Values(static_cast<float>(rank));
    std::vector<float> second(5, static_cast<float>(10 * rank));
    const std::string text =
        TransferState(kJoining, {first, second}, rank == 1 ? "step 12" : "x", *group[rank]);
    EXPECT_EQ(text, joins ? "step 12" : "");
    EXPECT_EQ(first, Values(joins ? 1.0f : static_cast<float>(rank)));
    EXPECT_EQ(second, std::vector<float>(5, joins ? 10.0f : static_cast<float>(10 * rank)));
  });
}

// The copies: the size of the text, the text, two pieces of values, and the digest.
TEST(StateTransfer, ARankThatReceivedAnotherBitLeavesAndTheOthersNoticeIt) {
  for (int copy = 1; copy < 4; ++copy) {
    auto group = MakeLocalGroup(kRanks, kRanks);
    OnEachRank(group, [&](size_t rank) {
      std::vector<float> values = Values(static_cast<float>(rank));
      FlipsABit flipping(*group[rank], copy);
      Communicator& communicator = rank == 3 ? static_cast<Communicator&>(flipping) : *group[rank];
      const auto transfer = [&] { TransferState(kJoining, {values}, "text", communicator); };
      if (rank == 3) {
        EXPECT_THROW(transfer(), TrainingError) << copy;
      } else {
        EXPECT_THROW(transfer(), CollectiveError) << copy;
      }
    });
  }
}

}  // namespace
}  // namespace gp::engine
