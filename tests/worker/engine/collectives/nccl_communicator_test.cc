// Goal: the communicator between GPUs meets the contract of every Communicator, reduces pieces in
// step with a queue of work, and never forms a wrong group. Method: its sources over the emulated
// CUDA runtime and the fake NCCL; ranks are threads.
#include "worker/engine/collectives/nccl_communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/engine/collectives/communicator_contract.h"
#include "worker/engine/collectives/device_group.h"
#include "worker/engine/collectives/hosted_communicator.h"

namespace gp::engine {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds kLong{60000};
constexpr milliseconds kBrief{50};

GroupOptions OptionsOf(int rank, int world_size, int logical_shards = kLogicalShards) {
  return {.run_id = "run",
          .epoch = 3,
          .rank = rank,
          .logical_shards = logical_shards,
          .addresses = std::vector<std::string>(static_cast<size_t>(world_size), "unused"),
          .connect_timeout = kLong,
          .timeout = kLong};
}

Group MakeGroup(int world_size, int logical_shards, milliseconds timeout, bool deterministic) {
  const std::string id = MakeNcclId();
  Group group(static_cast<size_t>(world_size));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      GroupOptions options = OptionsOf(rank, world_size, logical_shards);
      options.timeout = timeout;
      group[static_cast<size_t>(rank)] = std::make_unique<HostedCommunicator>(
          std::make_unique<NcclCommunicator>(options, id, deterministic));
    });
  }
  threads.clear();
  return group;
}

struct NcclFactory {
  static constexpr bool kNamesTheDead = false;
  static constexpr bool kCopies = false;
  static Group Make(int world_size, int logical_shards, milliseconds timeout) {
    return MakeGroup(world_size, logical_shards, timeout, /*deterministic=*/true);
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Nccl, CommunicatorContract, NcclFactory);

std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(NcclCommunicator, WithoutTheFixedTreeEveryRankHasTheSameSum) {
  for (const int world_size : {1, 2, 3, 4}) {
    Group group = MakeGroup(world_size, kLogicalShards, kLong, /*deterministic=*/false);
    const auto shards = RandomShards(1003, 7);
    std::vector<std::vector<float>> sums(group.size());
    OnEveryRank(group, [&](Communicator& member) {
      auto partials = PartialsOf(member, shards);
      member.AllReduceTree(partials[0], Spans(partials));
      sums[static_cast<size_t>(member.rank())] = partials[0];
    });
    const auto exact = PlainTree(shards, {0, kLogicalShards});
    for (const auto& sum : sums) {
      EXPECT_TRUE(SameBits(sum, sums[0]));
      for (size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i], exact[i], 1e-5) << i;
    }
  }
}

TEST(NcclCommunicator, PiecesBeginWhileTheQueueGoesOn) {
  constexpr size_t kCount = 4096;
  for (const bool deterministic : {true, false}) {
    for (const int world_size : {2, 3, 4}) {
      Group group = MakeGroup(world_size, kLogicalShards, kLong, deterministic);
      const auto expected = PlainTree(RandomShards(kCount, 8), {0, kLogicalShards});
      OnEveryRank(group, [&](Communicator& member) {
        std::deque<DeviceFloats> partials;
        for (auto& partial : PartialsOf(member, RandomShards(kCount, 8))) {
          partials.emplace_back(partial);
        }
        const CudaStream queue;
        DeviceCollectives& device = *member.device();
        device.Follow(queue.get());
        for (size_t end = kCount; end > 0; end -= kCount / 4) {
          std::vector<std::span<float>> parts;
          for (const DeviceFloats& partial : partials) {
            parts.push_back(partial.span().subspan(end - kCount / 4, kCount / 4));
          }
          device.BeginAllReduceTree(parts[0], parts);
        }
        device.Rejoin();
        device.Await();
        const std::vector<float> sum = partials[0].Get();
        for (size_t i = 0; i < kCount; ++i) ASSERT_NEAR(sum[i], expected[i], 1e-5);
        EXPECT_TRUE(!deterministic || SameBits(sum, expected));
      });
    }
  }
}

TEST(NcclCommunicator, EveryRanksPartReachesAllOthers) {
  for (const size_t count : {64, 67, 5, 4096}) {
    for (const int world_size : {1, 2, 3, 4}) {
      Group group = MakeGroup(world_size, kLogicalShards, kLong, /*deterministic=*/false);
      OnEveryRank(group, [&](Communicator& member) {
        const auto part_of = [&](int rank) {
          return PartOf(count, static_cast<size_t>(rank), static_cast<size_t>(world_size));
        };
        std::vector<float> values(count, -1);
        const ElementRange own = part_of(member.rank());
        std::fill(values.begin() + static_cast<int64_t>(own.begin),
                  values.begin() + static_cast<int64_t>(own.end),
                  static_cast<float>(member.rank()));
        const DeviceFloats on_device(values);
        member.device()->BeginAllGather(std::as_writable_bytes(on_device.span()), sizeof(float));
        member.device()->Await();
        const std::vector<float> all = on_device.Get();
        for (int rank = 0; rank < world_size; ++rank) {
          for (size_t i = part_of(rank).begin; i < part_of(rank).end; ++i) {
            ASSERT_EQ(all[i], static_cast<float>(rank)) << i << " of " << count;
          }
        }
      });
    }
  }
}

TEST(NcclCommunicator, SumsNumbersOfTheDevice) {
  Group group = MakeGroup(3, kLogicalShards, kLong, /*deterministic=*/true);
  OnEveryRank(group, [](Communicator& member) {
    const DeviceMemory memory(2 * sizeof(double));
    auto* const numbers = reinterpret_cast<double*>(memory.data());
    const double own[2] = {1.0 + member.rank(), 10.0 - member.rank()};
    ASSERT_EQ(cudaMemcpy(numbers, own, sizeof(own), cudaMemcpyHostToDevice), cudaSuccess);
    member.device()->BeginSum({numbers, 2});
    member.device()->Await();
    double result[2] = {};
    ASSERT_EQ(cudaMemcpy(result, numbers, sizeof(result), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(result[0], 6.0);
    EXPECT_EQ(result[1], 27.0);
  });
}

TEST(NcclCommunicator, RanksThatDoDifferentThingsHearOfIt) {
  Group group = MakeGroup(2, kLogicalShards, kLong, /*deterministic=*/true);
  OnEveryRank(group, [](Communicator& member) {
    const std::string error = ErrorOf([&] {
      if (member.rank() == 0) return member.Barrier();
      int number = 0;
      member.Broadcast(std::as_writable_bytes(std::span(&number, 1)), 0);
      member.Barrier();
    });
    EXPECT_THAT(error, HasSubstr("of epoch 3"));
  });
}

// Real NCCL would sum the wrong elements or hang. The fake detects this, so the tests of whole
// steps prove that all ranks cut and order the gradient in the same way.
TEST(NcclCommunicator, PiecesInAnotherOrderAreNoticed) {
  constexpr size_t kLarge = 3072;
  constexpr size_t kSmall = 1024;
  for (const bool deterministic : {true, false}) {
    Group group = MakeGroup(2, kLogicalShards, kLong, deterministic);
    OnEveryRank(group, [&](Communicator& member) {
      const DeviceFloats gradient(kLarge + kSmall);
      const std::span<float> large = gradient.span().first(kLarge);
      const std::span<float> small = gradient.span().last(kSmall);
      const bool in_order = member.rank() == 0;
      const std::string error = ErrorOf([&] {
        for (const std::span<float> piece : {in_order ? large : small, in_order ? small : large}) {
          member.device()->BeginAllReduceTree(piece, {piece});
        }
        member.device()->Await();
      });
      EXPECT_THAT(error, HasSubstr("of epoch 3"));
    });
  }
}

TEST(NcclCommunicator, AnIdOfAnotherEpochConnectsNobody) {
  const std::string stale = MakeNcclId();
  const std::string fresh = MakeNcclId();
  std::vector<std::jthread> threads;
  for (const int rank : {0, 1}) {
    threads.emplace_back([&, rank] {
      GroupOptions options = OptionsOf(rank, 2);
      options.connect_timeout = kBrief;
      const std::string error =
          ErrorOf([&] { NcclCommunicator(options, rank == 0 ? fresh : stale, true); });
      EXPECT_THAT(error, HasSubstr("connecting through NCCL, rank"));
      EXPECT_THAT(error, HasSubstr("not complete after 50 ms"));
    });
  }
}

TEST(NcclCommunicator, AnIdThatIsNoneIsRefused) {
  const std::string wrong(MakeNcclId().size(), '0');
  EXPECT_THAT(ErrorOf([&] { NcclCommunicator(OptionsOf(0, 2), wrong, true); }),
              HasSubstr("unhandled system error"));
  EXPECT_THAT(ErrorOf([&] { NcclCommunicator(OptionsOf(0, 2), "abc", true); }),
              HasSubstr("has 3 characters, expected 256 hex digits"));
  EXPECT_THAT(ErrorOf([&] { NcclCommunicator(OptionsOf(0, 2), std::string(256, 'x'), true); }),
              HasSubstr("expected 256 hex digits"));
}

TEST(NcclCommunicator, ARankThatIsThereAlreadyIsRefused) {
  const std::string id = MakeNcclId();
  std::vector<std::string> errors(2);
  std::vector<std::jthread> threads;
  std::stop_source stop;
  for (std::string& error : errors) {
    threads.emplace_back([&] {
      error = ErrorOf([&] { NcclCommunicator(OptionsOf(0, 2), id, true, stop.get_token()); });
      stop.request_stop();  // otherwise the other one would wait for rank 1
    });
  }
  threads.clear();
  EXPECT_THAT(errors, testing::Contains(HasSubstr("internal error")));
  EXPECT_THAT(errors, testing::Each(HasSubstr("rank 0 of epoch 3")));
}

TEST(NcclCommunicator, AStopEndsTheWaitForTheOthers) {
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_THAT(
      ErrorOf([&] { NcclCommunicator(OptionsOf(0, 2), MakeNcclId(), true, stop.get_token()); }),
      HasSubstr("forming the group was aborted"));
}

// The fake aborts the program if a communicator is destroyed while it works.
TEST(NcclCommunicator, IsAbortedWhenItComesToNoEnd) {
  Group group = MakeGroup(1, kLogicalShards, kLong, /*deterministic=*/true);
  setenv("GP_FAKE_NCCL_HANGS_AT_ITS_END", "1", 1);
  const auto start = std::chrono::steady_clock::now();
  group.clear();
  EXPECT_LT(std::chrono::steady_clock::now() - start, kLong);
  unsetenv("GP_FAKE_NCCL_HANGS_AT_ITS_END");
}

TEST(NcclLibrary, IsNamedWithItsVersion) {
  EXPECT_THAT(DeviceGroupLibrary(), testing::MatchesRegex("NCCL 2\\.28\\.9 \\(.*fake_nccl.*\\)"));
}

TEST(NcclLibrary, AMissingOneSaysTheWayOut) {
  const std::string error = ErrorOf([] { NcclApi::Open("/nowhere/libnccl.so.2"); });
  EXPECT_THAT(error, HasSubstr("/nowhere/libnccl.so.2"));
  EXPECT_THAT(error, HasSubstr("GP_NCCL_LIBRARY"));
}

TEST(NcclLibrary, AnotherLibraryIsNotTakenForIt) {
  EXPECT_THAT(ErrorOf([] { NcclApi::Open("libdl.so.2"); }),
              HasSubstr("libdl.so.2 has no ncclGetVersion"));
}

}  // namespace
}  // namespace gp::engine
