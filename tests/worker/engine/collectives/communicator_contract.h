// The contract of every Communicator. An implementation instantiates it with a factory type:
//
//   struct Factory {
//     // Optional: false if errors report a lost rank without naming it.
//     static constexpr bool kNamesTheDead = true;
//     // Optional: false if CopyTo is not available.
//     static constexpr bool kCopies = true;
//     // One communicator per rank; ranks run in threads of this process.
//     static std::vector<std::unique_ptr<Communicator>> Make(int world_size, int logical_shards,
//                                                            std::chrono::milliseconds timeout);
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, CommunicatorContract, Factory);
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <latch>
#include <thread>

#include "worker/engine/collectives/communicator.h"
#include "worker/engine/collectives/posted_parts.h"
#include "worker/engine/collectives/rank_threads.h"
#include "worker/engine/collectives/reduction_order.h"
#include "worker/engine/collectives/shard_sums.h"

namespace gp::engine {

inline constexpr int kWorldSizes[] = {1, 2, 3, 4, 5};

using Group = std::vector<std::unique_ptr<Communicator>>;

// Runs `body` for each rank in its own thread, and waits for all.
inline void OnEveryRank(Group& group, const std::function<void(Communicator&)>& body) {
  OnEachRank(group, [&](size_t rank) { body(*group[rank]); });
}

template <typename Factory>
constexpr bool NamesTheDead() {
  if constexpr (requires { Factory::kNamesTheDead; }) return Factory::kNamesTheDead;
  return true;
}

template <typename Factory>
constexpr bool Copies() {
  if constexpr (requires { Factory::kCopies; }) return Factory::kCopies;
  return true;
}

template <typename Factory>
class CommunicatorContract : public testing::Test {
 protected:
  static Group Make(int world_size,
                    std::chrono::milliseconds timeout = std::chrono::milliseconds(60000)) {
    return Factory::Make(world_size, kLogicalShards, timeout);
  }
};
TYPED_TEST_SUITE_P(CommunicatorContract);

TYPED_TEST_P(CommunicatorContract, KnowsItsPlace) {
  for (const int world_size : kWorldSizes) {
    const Group group = this->Make(world_size);
    for (int rank = 0; rank < world_size; ++rank) {
      EXPECT_EQ(group[static_cast<size_t>(rank)]->rank(), rank);
      EXPECT_EQ(group[static_cast<size_t>(rank)]->size(), world_size);
    }
  }
}

TYPED_TEST_P(CommunicatorContract, SumsSmallIntegersExactly) {
  for (const int world_size : kWorldSizes) {
    Group group = this->Make(world_size);
    OnEveryRank(group, [](Communicator& member) {
      // Every shard is all ones, so the sum of a subtree is its number of shards.
      std::vector<std::vector<float>> shards(kLogicalShards, std::vector<float>(1000, 1.0f));
      auto partials = PartialsOf(member, shards);
      std::vector<float> sum(1000);
      member.AllReduceTree(sum, Spans(partials));
      EXPECT_EQ(sum, std::vector<float>(1000, kLogicalShards));
    });
  }
}

TYPED_TEST_P(CommunicatorContract, TheBitsOfASumAreThoseOfThePlainTreeForEveryWorldSize) {
  constexpr uint32_t kSeed = 20;
  // Empty, less than a cache line, less than a block, and several blocks with an incomplete last
  // one.
  for (const size_t count : {0, 1, 7, 100, 40001, 300007}) {
    const auto shards = RandomShards(count, kSeed);
    const auto expected = PlainTree(shards, {0, kLogicalShards});
    for (const int world_size : kWorldSizes) {
      Group group = this->Make(world_size);
      OnEveryRank(group, [&](Communicator& member) {
        auto partials = PartialsOf(member, shards);
        std::vector<float> sum(count);
        member.AllReduceTree(sum, Spans(partials));
        EXPECT_TRUE(SameBits(sum, expected)) << "seed " << kSeed << " world size " << world_size
                                             << " count " << count << " rank " << member.rank();
      });
    }
  }
}

TYPED_TEST_P(CommunicatorContract, PartsThatTravelAtOnceHaveTheBitsOfThePlainTree) {
  constexpr uint32_t kSeed = 23;
  constexpr size_t kCount = 400009;
  const auto shards = RandomShards(kCount, kSeed);
  const auto expected = PlainTree(shards, {0, kLogicalShards});
  // The ends of the parts: less than a cache line, several blocks, an empty part, more than a
  // window.
  const std::vector<size_t> ends = {3, 100, 140000, 140000, 140040, kCount};
  for (const int world_size : kWorldSizes) {
    Group group = this->Make(world_size);
    OnEveryRank(group, [&](Communicator& member) {
      auto partials = PartialsOf(member, shards);
      PostedParts parts;
      // Some ranks still post their parts while others have already posted all.
      std::jthread making([&] {
        size_t first = 0;
        for (const size_t end : ends) {
          TreePart part;
          for (auto& one : partials) {
            part.partials.push_back(std::span(one).subspan(first, end - first));
          }
          part.values = part.partials[0];
          parts.Post(std::move(part));
          first = end;
          if (member.rank() % 2 == 1) std::this_thread::yield();
        }
        parts.Close();
      });
      member.AllReduceParts(parts);
      EXPECT_TRUE(SameBits(partials[0], expected))
          << "seed " << kSeed << " world size " << world_size << " rank " << member.rank();
      member.Barrier();
    });
  }
}

TYPED_TEST_P(CommunicatorContract, AfterAbortPartsAreNotSummed) {
  Group group = this->Make(2);
  for (auto& member : group) member->Abort("over");
  OnEveryRank(group, [](Communicator& member) {
    std::vector<std::vector<float>> shards(kLogicalShards, {1.0f});
    auto partials = PartialsOf(member, shards);
    PostedParts parts({{partials[0], Spans(partials)}});
    EXPECT_THROW(member.AllReduceParts(parts), CollectiveError);
  });
}

TYPED_TEST_P(CommunicatorContract, TheSumMayReplaceTheFirstPartial) {
  const auto shards = RandomShards(150001, 21);
  const auto expected = PlainTree(shards, {0, kLogicalShards});
  for (const int world_size : kWorldSizes) {
    Group group = this->Make(world_size);
    OnEveryRank(group, [&](Communicator& member) {
      auto partials = PartialsOf(member, shards);
      member.AllReduceTree(partials[0], Spans(partials));
      EXPECT_TRUE(SameBits(partials[0], expected)) << "world size " << world_size;
    });
  }
}

TYPED_TEST_P(CommunicatorContract, ItsOwnMemoryGivesTheSameBitsAsAnyOther) {
  constexpr uint32_t kSeed = 22;
  for (const size_t count : {1, 1000, 150001}) {
    const auto shards = RandomShards(count, kSeed);
    const auto expected = PlainTree(shards, {0, kLogicalShards});
    for (const int world_size : kWorldSizes) {
      Group group = this->Make(world_size);
      OnEveryRank(group, [&](Communicator& member) {
        auto partials = PartialsOf(member, shards);
        std::vector<std::span<float>> spans = Spans(partials);
        for (std::span<float>& span : spans) {
          const std::span<float> own = member.Allocate(count);
          if (own.empty()) continue;
          std::copy(span.begin(), span.end(), own.begin());
          span = own;
        }
        // In two ranges, like the parts of a gradient.
        const size_t half = count / 2;
        for (const auto& [first, size] :
             {std::pair{half, count - half}, std::pair{size_t{0}, half}}) {
          std::vector<std::span<float>> parts;
          for (const auto& span : spans) parts.push_back(span.subspan(first, size));
          member.AllReduceTree(parts[0], parts);
        }
        EXPECT_TRUE(SameBits(spans[0], expected))
            << "seed " << kSeed << " world size " << world_size << " count " << count << " rank "
            << member.rank();
      });
    }
  }
}

TYPED_TEST_P(CommunicatorContract, TakesTheMaximumOfEachElement) {
  for (const int world_size : kWorldSizes) {
    Group group = this->Make(world_size);
    OnEveryRank(group, [](Communicator& member) {
      const double rank = member.rank();
      std::vector<double> values = {rank, -rank, 7.5};
      member.AllReduceMax(values);
      EXPECT_EQ(values, (std::vector<double>{member.size() - 1.0, -0.0, 7.5}));
    });
  }
}

TYPED_TEST_P(CommunicatorContract, BroadcastsFromAnyRoot) {
  for (const int world_size : kWorldSizes) {
    Group group = this->Make(world_size);
    OnEveryRank(group, [](Communicator& member) {
      for (int root = 0; root < member.size(); ++root) {
        std::vector<int> values(1000, member.rank());
        member.Broadcast(std::as_writable_bytes(std::span(values)), root);
        EXPECT_EQ(values, std::vector<int>(1000, root));
      }
    });
  }
}

TYPED_TEST_P(CommunicatorContract, CopiesFromAnyRankToSomeOthers) {
  if (!Copies<TypeParam>()) GTEST_SKIP() << "this group copies to all ranks only";
  for (const int world_size : kWorldSizes) {
    Group group = this->Make(world_size);
    OnEveryRank(group, [](Communicator& member) {
      for (int from = 0; from < member.size(); ++from) {
        std::vector<int> to;  // every second one of the others
        for (int rank = (from + 1) % 2; rank < member.size(); rank += 2) {
          if (rank != from) to.push_back(rank);
        }
        const bool receives = std::ranges::count(to, member.rank()) > 0;
        const bool takes_part = receives || member.rank() == from;
        std::vector<int> values(takes_part ? 300'000 : 1, member.rank());
        member.CopyTo(std::as_writable_bytes(std::span(values)), from, to);
        EXPECT_EQ(values, std::vector<int>(values.size(), receives ? from : member.rank()));
      }
      member.Barrier();
    });
  }
}

TYPED_TEST_P(CommunicatorContract, ManyCollectivesInARowDoNotMix) {
  for (const int world_size : kWorldSizes) {
    Group group = this->Make(world_size);
    OnEveryRank(group, [](Communicator& member) {
      for (int round = 0; round < 50; ++round) {
        std::vector<std::vector<float>> shards(kLogicalShards, {static_cast<float>(round)});
        auto partials = PartialsOf(member, shards);
        member.AllReduceTree(partials[0], Spans(partials));
        ASSERT_EQ(partials[0][0], static_cast<float>(round * kLogicalShards));
        double largest = member.rank() + round;
        member.AllReduceMax({&largest, 1});
        ASSERT_EQ(largest, member.size() - 1 + round);
        member.Barrier();
      }
    });
  }
}

TYPED_TEST_P(CommunicatorContract, AbortEndsACallThatWaits) {
  for (const int world_size : {2, 3, 5}) {
    Group group = this->Make(world_size);
    std::latch waiting(world_size);
    std::jthread aborter([&] {
      waiting.wait();
      for (auto& member : group) member->Abort("a test says so");
    });
    OnEveryRank(group, [&](Communicator& member) {
      waiting.count_down();
      if (member.rank() == 0) return;  // rank 0 never calls Barrier, so the others wait
      EXPECT_THROW(member.Barrier(), CollectiveError);
    });
  }
}

TYPED_TEST_P(CommunicatorContract, AnAbortedCallGivesTheReason) {
  Group group = this->Make(2);
  group[1]->Abort("a test says so");
  try {
    group[1]->Barrier();
    ADD_FAILURE() << "the barrier passed without rank 0";
  } catch (const CollectiveError& error) {
    EXPECT_NE(std::string(error.what()).find("a test says so"), std::string::npos) << error.what();
  }
}

TYPED_TEST_P(CommunicatorContract, AfterAbortEveryCallThrows) {
  for (const int world_size : {1, 2}) {
    Group group = this->Make(world_size);
    for (auto& member : group) member->Abort("over");
    OnEveryRank(group, [](Communicator& member) {
      EXPECT_THROW(member.Barrier(), CollectiveError);
      std::vector<std::vector<float>> shards(kLogicalShards, {1.0f});
      auto partials = PartialsOf(member, shards);
      EXPECT_THROW(member.AllReduceTree(partials[0], Spans(partials)), CollectiveError);
      int number = 0;
      EXPECT_THROW(member.Broadcast(std::as_writable_bytes(std::span(&number, 1)), 0),
                   CollectiveError);
    });
  }
}

TYPED_TEST_P(CommunicatorContract, ADeadPeerIsNoticedAndNamed) {
  for (const int world_size : {2, 3, 4}) {
    Group group = this->Make(world_size);
    group[1].reset();
    std::vector<std::jthread> threads;
    for (const size_t rank : {0, 2, 3}) {
      if (rank >= group.size()) continue;
      threads.emplace_back([&group, rank] {
        std::vector<std::vector<float>> shards(kLogicalShards, std::vector<float>(100000, 1.0f));
        auto partials = PartialsOf(*group[rank], shards);
        try {
          group[rank]->AllReduceTree(partials[0], Spans(partials));
          ADD_FAILURE() << "the sum is complete without rank 1";
        } catch (const CollectiveError& error) {
          const std::string wanted = NamesTheDead<TypeParam>() ? "rank 1" : "all-reduce";
          EXPECT_NE(std::string(error.what()).find(wanted), std::string::npos) << error.what();
        }
      });
    }
  }
}

TYPED_TEST_P(CommunicatorContract, APeerThatStaysAwayIsGivenUpAfterTheTimeout) {
  for (const bool is_set_later : {false, true}) {
    const std::chrono::milliseconds brief(30);
    Group group = is_set_later ? this->Make(2) : this->Make(2, brief);
    if (is_set_later) group[0]->SetTimeout(brief);
    std::vector<std::vector<float>> shards(kLogicalShards, std::vector<float>(10, 1.0f));
    auto partials = PartialsOf(*group[0], shards);
    EXPECT_THROW(group[0]->AllReduceTree(partials[0], Spans(partials)), CollectiveError);
  }
}

REGISTER_TYPED_TEST_SUITE_P(CommunicatorContract, KnowsItsPlace, SumsSmallIntegersExactly,
                            TheBitsOfASumAreThoseOfThePlainTreeForEveryWorldSize,
                            PartsThatTravelAtOnceHaveTheBitsOfThePlainTree,
                            AfterAbortPartsAreNotSummed, TheSumMayReplaceTheFirstPartial,
                            ItsOwnMemoryGivesTheSameBitsAsAnyOther, TakesTheMaximumOfEachElement,
                            BroadcastsFromAnyRoot, CopiesFromAnyRankToSomeOthers,
                            ManyCollectivesInARowDoNotMix, AbortEndsACallThatWaits,
                            AnAbortedCallGivesTheReason, AfterAbortEveryCallThrows,
                            ADeadPeerIsNoticedAndNamed, APeerThatStaysAwayIsGivenUpAfterTheTimeout);

}  // namespace gp::engine
