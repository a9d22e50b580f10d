// Reads return the state at Open, whenever and in whatever order it is overwritten, and copies stay
// within their memory limit.
#include "worker/checkpoint/streamed_snapshot.h"

#include <gtest/gtest.h>

#include <latch>
#include <numeric>
#include <random>
#include <thread>

namespace gp::engine {
namespace {

constexpr int64_t kCount = 1003;  // not a multiple of a chunk
constexpr int64_t kChunk = 64;
constexpr uint64_t kChunkBytes = kChunk * sizeof(float);

class StreamedSnapshotTest : public ::testing::Test {
 protected:
  StreamedSnapshotTest() {
    for (size_t b = 0; b < state_.size(); ++b) {
      state_[b].resize(kCount);
      std::iota(state_[b].begin(), state_[b].end(), 10000.0f * static_cast<float>(b));
    }
    original_ = state_;
  }

  static StreamedSnapshot::Options Options(uint64_t copies) {
    return {.copy_bytes_max = copies * kChunkBytes, .chunk_size = kChunk};
  }
  StreamedSnapshot::Buffers Buffers() const { return {state_[0], state_[1], state_[2]}; }

  // Updates one range as the optimizer does.
  void Overwrite(StreamedSnapshot& snapshot, int64_t first, int64_t last) {
    snapshot.BeforeOverwrite(first, last);
    for (auto& buffer : state_) {
      for (int64_t i = first; i < last; ++i) buffer[static_cast<size_t>(i)] += 0.5f;
    }
  }

  // Reads every buffer as a writer does, in tensors of `size` values with a gap after each, and
  // expects the original state.
  void ExpectOriginal(StreamedSnapshot& snapshot, int64_t size) {
    for (int b = 0; b < StreamedSnapshot::kBufferCount; ++b) {
      for (int64_t first = 0; first + size <= kCount; first += size + 3) {
        ExpectOriginal(snapshot, b, first, first + size);
      }
    }
  }

  void ExpectOriginal(StreamedSnapshot& snapshot, int b, int64_t first, int64_t last) {
    int64_t position = first;
    const Status status = snapshot.Read(b, first, last, [&](std::span<const float> values) {
      for (const float value : values) {
        EXPECT_EQ(value, original_[static_cast<size_t>(b)][static_cast<size_t>(position++)]);
      }
      return OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(position, last);
  }

  std::array<std::vector<float>, 3> state_;
  std::array<std::vector<float>, 3> original_;
};

TEST_F(StreamedSnapshotTest, ReadsWhatWasThereThoughAllOfItIsOverwrittenFirst) {
  StreamedSnapshot snapshot(Options(1000));
  for (int round = 0; round < 2; ++round) {
    original_ = state_;
    snapshot.Open(Buffers());
    Overwrite(snapshot, 0, 500);
    Overwrite(snapshot, 500, kCount);
    ExpectOriginal(snapshot, 29);
    snapshot.Close();
  }
  Overwrite(snapshot, 0, kCount);  // the snapshot is no longer open
}

TEST_F(StreamedSnapshotTest, AnUpdateWaitsForTheWriterWhenNoCopyFits) {
  for (const uint64_t copies : {uint64_t{0}, uint64_t{1}, uint64_t{7}}) {
    StreamedSnapshot snapshot(Options(copies));
    original_ = state_;
    snapshot.Open(Buffers());
    std::jthread update([&] {
      for (int64_t first = 0; first < kCount; first += 100) {
        Overwrite(snapshot, first, std::min(first + 100, kCount));
      }
    });
    ExpectOriginal(snapshot, 61);
    snapshot.Close();
    update.join();
    EXPECT_LE(snapshot.copied_bytes_most(), copies * kChunkBytes);
    EXPECT_EQ(state_[2][kCount - 1], original_[2][kCount - 1] + 0.5f);
  }
}

TEST_F(StreamedSnapshotTest, AnyOrderOfReadsAndUpdatesGivesTheState) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    StreamedSnapshot snapshot(Options(random() % 20));
    original_ = state_;
    snapshot.Open(Buffers());
    const auto piece = static_cast<int64_t>(1 + random() % 300);
    std::jthread update([&, piece] {
      for (int64_t first = 0; first < kCount; first += piece) {
        Overwrite(snapshot, first, std::min(first + piece, kCount));
      }
    });
    ExpectOriginal(snapshot, static_cast<int64_t>(1 + random() % 200));
    snapshot.Close();
  }
}

TEST_F(StreamedSnapshotTest, BuffersAreReadSideBySide) {
  StreamedSnapshot snapshot(Options(5));
  snapshot.Open(Buffers());
  {
    std::jthread update([&] {
      for (int64_t first = 0; first < kCount; first += 100) {
        Overwrite(snapshot, first, std::min(first + 100, kCount));
      }
    });
    std::jthread second([&] {
      ExpectOriginal(snapshot, 1, 0, kCount);
      snapshot.Finish(1);
      ExpectOriginal(snapshot, 2, 0, kCount);
      snapshot.Finish(2);
    });
    ExpectOriginal(snapshot, 0, 0, kCount);
    snapshot.Finish(0);
  }
  snapshot.Close();
}

TEST_F(StreamedSnapshotTest, AFailedSaveHoldsNothingUp) {
  StreamedSnapshot snapshot(Options(0));
  snapshot.Open(Buffers());
  const Status status = snapshot.Read(0, 0, 200, [](std::span<const float>) {
    return ResourceExhausted("no space left on device");
  });
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  snapshot.Close();
  Overwrite(snapshot, 0, kCount);
}

TEST_F(StreamedSnapshotTest, AStorageThatHangsIsGivenUp) {
  StreamedSnapshot::Options options = Options(0);
  options.patience = std::chrono::milliseconds(1);
  StreamedSnapshot snapshot(options);
  snapshot.Open(Buffers());
  const Status hung = snapshot.Read(0, 0, 10, [&](std::span<const float> values) {
    Overwrite(snapshot, 0, kCount);
    EXPECT_EQ(values[5], original_[0][5]) << "what the storage has in hand was overwritten";
    return OkStatus();
  });
  EXPECT_TRUE(hung.ok()) << hung;
  const Status next = snapshot.Read(0, 10, 20, [](std::span<const float>) { return OkStatus(); });
  EXPECT_EQ(next.code(), StatusCode::kDeadlineExceeded) << next;
  snapshot.Close();
}

TEST_F(StreamedSnapshotTest, AStorageThatCrawlsIsGivenUpToo) {
  StreamedSnapshot::Options options = Options(0);
  options.patience = std::chrono::milliseconds(20);
  options.chunk_size = 1;  // 1003 chunks, so the update begins long before the last one is read
  StreamedSnapshot snapshot(options);
  snapshot.Open(Buffers());
  std::latch updating(1);
  std::jthread update([&] {
    updating.count_down();
    Overwrite(snapshot, 0, kCount);
  });
  updating.wait();
  const Status status = snapshot.Read(0, 0, kCount, [](std::span<const float>) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // once per chunk
    return OkStatus();
  });
  snapshot.Finish(0);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
  snapshot.Close();
}

}  // namespace
}  // namespace gp::engine
