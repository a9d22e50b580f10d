// Goal: the communicator between GPUs works with real devices and the real library as it does with
// the fakes. Method: one rank per GPU of the machine, in threads. Built over the emulation, which
// has one device, and in a CUDA build also over real devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "worker/engine/collectives/hosted_communicator.h"
#include "worker/engine/collectives/nccl_communicator.h"
#include "worker/engine/collectives/shard_sums.h"

namespace gp::engine {
namespace {

using testing::HasSubstr;

constexpr size_t kCount = size_t{1} << 20;

class NcclOnDevices : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const cudaError_t error = cudaGetDeviceCount(&ranks_);
    if (error != cudaSuccess) GTEST_SKIP() << "no CUDA device: " << cudaGetErrorString(error);
    ranks_ = std::min(ranks_, kLogicalShards);
  }

  // Runs `body` for each rank, in its own thread and on its own device.
  void OnEveryDevice(const std::function<void(Communicator&)>& body) {
    const std::string id = MakeNcclId();
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks_; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          RunRank(rank, id, body);
        } catch (const std::exception& error) {
          ADD_FAILURE() << "rank " << rank << ": " << error.what();
        }
      });
    }
  }

  void RunRank(int rank, const std::string& id, const std::function<void(Communicator&)>& body) {
    CheckCuda(cudaSetDevice(rank), "cudaSetDevice");
    NcclCommunicator communicator(
        {.run_id = "run",
         .epoch = 3,
         .rank = rank,
         .logical_shards = kLogicalShards,
         .addresses = std::vector<std::string>(static_cast<size_t>(ranks_), "unused"),
         .connect_timeout = std::chrono::seconds(60),
         .timeout = std::chrono::seconds(60)},
        id, /*deterministic=*/GetParam());
    body(communicator);
  }

  int ranks_ = 0;
};

// Each piece is reduced after the copy that fills it, and the queue copies the result after the
// sums.
TEST_P(NcclOnDevices, SumGradientsInPiecesBesideAQueue) {
  const auto shards = RandomShards(kCount, 8);
  const auto expected = PlainTree(shards, {0, kLogicalShards});
  OnEveryDevice([&](Communicator& member) {
    const auto partials = PartialsOf(member, shards);
    std::vector<DeviceFloats> sums;
    sums.reserve(partials.size());
    for (const auto& partial : partials) sums.emplace_back(partial.size());
    std::vector<float> result(kCount);
    const CudaStream queue;
    DeviceCollectives& device = *member.device();
    device.Follow(queue.get());
    constexpr size_t kPiece = kCount / 4;
    for (size_t end = kCount; end > 0; end -= kPiece) {
      std::vector<std::span<float>> parts;
      for (size_t i = 0; i < sums.size(); ++i) {
        parts.push_back(sums[i].span().subspan(end - kPiece, kPiece));
        CheckCuda(cudaMemcpyAsync(parts[i].data(), partials[i].data() + (end - kPiece),
                                  kPiece * sizeof(float), cudaMemcpyHostToDevice, queue.get()),
                  "copy of a piece");
      }
      device.BeginAllReduceTree(parts[0], parts);
    }
    device.Rejoin();
    CheckCuda(cudaMemcpyAsync(result.data(), sums[0].span().data(), kCount * sizeof(float),
                              cudaMemcpyDeviceToHost, queue.get()),
              "copy of the sums");
    device.Await();
    queue.Synchronize();
    for (size_t i = 0; i < kCount; ++i) ASSERT_NEAR(result[i], expected[i], 1e-5) << i;
    EXPECT_TRUE(!GetParam() || SameBits(result, expected));
  });
}

TEST_P(NcclOnDevices, SumLossesAndGatherParts) {
  OnEveryDevice([&](Communicator& member) {
    const DeviceMemory memory(sizeof(double));
    auto* const loss = reinterpret_cast<double*>(memory.data());
    const double own = 1.5 + member.rank();
    const DeviceFloats parts(std::vector<float>(67, static_cast<float>(member.rank())));
    ASSERT_EQ(cudaMemcpy(loss, &own, sizeof(own), cudaMemcpyHostToDevice), cudaSuccess);
    member.device()->BeginSum({loss, 1});
    member.device()->BeginAllGather(std::as_writable_bytes(parts.span()), sizeof(float));
    member.device()->Await();
    double sum = 0;
    ASSERT_EQ(cudaMemcpy(&sum, loss, sizeof(sum), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(sum, 1.5 * ranks_ + ranks_ * (ranks_ - 1) / 2.0);
    const std::vector<float> all = parts.Get();
    for (int rank = 0; rank < ranks_; ++rank) {
      const ElementRange part =
          PartOf(all.size(), static_cast<size_t>(rank), static_cast<size_t>(ranks_));
      for (size_t i = part.begin; i < part.end; ++i) EXPECT_EQ(all[i], static_cast<float>(rank));
    }
  });
}

// More than fits into the staging memory at once.
TEST_P(NcclOnDevices, MoveWhatTheHostGives) {
  OnEveryDevice([&](Communicator& member) {
    std::vector<double> values(100'000, static_cast<double>(member.rank()));
    member.AllReduceMax(values);
    EXPECT_THAT(values, testing::Each(ranks_ - 1.0));
    std::vector<std::byte> bytes(1'000'000, std::byte{static_cast<unsigned char>(member.rank())});
    member.Broadcast(bytes, ranks_ - 1);
    EXPECT_THAT(bytes, testing::Each(std::byte{static_cast<unsigned char>(ranks_ - 1)}));
    member.Barrier();
  });
}

TEST_P(NcclOnDevices, EndWithTheReasonOnceAborted) {
  std::barrier all_have_begun(ranks_);
  OnEveryDevice([&](Communicator& member) {
    member.Barrier();
    all_have_begun.arrive_and_wait();
    member.Abort("the step failed");
    try {
      member.Barrier();
      ADD_FAILURE() << "a collective of a group that was aborted";
    } catch (const CollectiveError& error) {
      EXPECT_THAT(error.what(), HasSubstr("the step failed"));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sums, NcclOnDevices, testing::Values(true, false),
                         [](const auto& mode) { return mode.param ? "AlongTheTree" : "ByNccl"; });

}  // namespace
}  // namespace gp::engine
