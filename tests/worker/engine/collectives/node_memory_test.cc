#include "worker/engine/collectives/node_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace gp::engine {
namespace {

// Duplicates a descriptor, like the copy that a peer receives.
Socket CopyOf(int fd) { return Socket(dup(fd)); }

TEST(NodeMemory, IsSeenByWhoHoldsItsDescriptor) {
  NodeMemory memory;
  const std::span<float> first = memory.Allocate(5);
  PeerMemory peer(1, CopyOf(memory.fd()));
  EXPECT_EQ(*std::max_element(first.begin(), first.end()), 0.0f);
  first[4] = 7;
  EXPECT_EQ(peer.At(*memory.OffsetOf(first), 5)[4], 7);
  // Larger than a huge page, and allocated after the peer mapped the memory.
  const std::span<float> second = memory.Allocate(1 << 20);
  second.back() = 3;
  float* seen = peer.At(*memory.OffsetOf(second), second.size());
  EXPECT_EQ(seen[second.size() - 1], 3);
  seen[0] = 4;
  EXPECT_EQ(second[0], 4);
  EXPECT_EQ(first[4], 7);
}

TEST(NodeMemory, KnowsWhatIsItsOwn) {
  NodeMemory memory;
  const std::span<float> own = memory.Allocate(2048);
  EXPECT_EQ(*memory.OffsetOf(own.subspan(100, 7)), *memory.OffsetOf(own) + 100 * sizeof(float));
  const std::vector<float> others(10);
  EXPECT_FALSE(memory.OffsetOf(others));
  EXPECT_FALSE(memory.OffsetOf({own.data() + 2000, 100})) << "runs over the end";
}

TEST(PeerMemory, RefusesPlacesThatThePeerDoesNotHave) {
  NodeMemory memory;
  memory.Allocate(1024);
  PeerMemory peer(1, CopyOf(memory.fd()));
  const auto expect_refused = [&] {
    EXPECT_THROW(peer.At(0, 1025), CollectiveError);
    EXPECT_THROW(peer.At(4096, 1), CollectiveError);
    EXPECT_THROW(peer.At(2, 1), CollectiveError) << "not aligned";
    EXPECT_THROW(peer.At(~uint64_t{0} - 7, 4), CollectiveError) << "wraps around";
    EXPECT_THROW(peer.At(4, ~size_t{0} / sizeof(float)), CollectiveError) << "wraps around";
    EXPECT_THROW(peer.At(4, size_t{1} << 62), CollectiveError) << "its bytes wrap around";
  };
  expect_refused();
  EXPECT_NE(peer.At(0, 1024), nullptr);
  expect_refused();  // memory that is already mapped is checked as strictly
  EXPECT_NE(peer.At(4092, 1), nullptr);
}

TEST(PeerMemory, RefusesWhatCanShrinkUnderIt) {
  Socket file(memfd_create("shrinks", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_THROW(PeerMemory(1, std::move(file)), CollectiveError);
}

}  // namespace
}  // namespace gp::engine
