// Goal: the header alone reveals that a rank is in another collective, whichever field differs, and
// an incomplete header is not mistaken for a wrong one.
#include "worker/engine/collectives/wire.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <thread>

namespace gp::engine {
namespace {

using Bytes = std::vector<std::byte>;

Bytes LittleEndian(std::initializer_list<std::pair<uint64_t, size_t>> values) {
  Bytes bytes;
  for (const auto& [value, size] : values) {
    for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  return bytes;
}

// A header as in docs/formats/collectives.md: operation, reserved, sequence, size.
Bytes Header(uint64_t operation, uint64_t sequence, uint64_t size) {
  return LittleEndian({{operation, 4}, {0, 4}, {sequence, 8}, {size, 8}});
}

constexpr uint64_t kBroadcast = 3;

// Rank 0's wire to rank 1; the test holds the other end.
class WireTest : public ::testing::Test {
 protected:
  WireTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    EXPECT_EQ(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    TcpGroup group;
    group.peers.emplace_back();
    group.peers.emplace_back(ends[0]);
    group.results.resize(2);  // these collectives use no connections for results
    other_ = Socket(ends[1]);
    wire_.emplace(0, std::move(group), std::chrono::seconds(60));
    wire_->BeginCollective();
  }

  void Send(const Bytes& bytes) {
    ASSERT_EQ(write(other_.fd(), bytes.data(), bytes.size()), std::ssize(bytes));
  }
  Bytes Received(size_t size) {
    Bytes bytes(size);
    EXPECT_EQ(recv(other_.fd(), bytes.data(), size, MSG_WAITALL), static_cast<ssize_t>(size));
    return bytes;
  }
  // Sends the two bytes {7, 8} and returns what rank 1 sent.
  Bytes Swap() {
    Bytes own = {std::byte{7}, std::byte{8}};
    return wire_->Swap(Operation::kBroadcast, "broadcast", own, {1}, false).at(0);
  }
  // The error message; empty if nothing was thrown.
  std::string ErrorOfSwap() {
    try {
      Swap();
      return "";
    } catch (const CollectiveError& error) {
      return error.what();
    }
  }

  Socket other_;
  std::optional<Wire> wire_;
};

TEST_F(WireTest, EachMessageIsItsHeaderAndItsBytes) {
  Send(Header(kBroadcast, 1, 2));
  Send({std::byte{1}, std::byte{2}});
  EXPECT_EQ(Swap(), (Bytes{std::byte{1}, std::byte{2}}));
  EXPECT_EQ(Received(24), Header(kBroadcast, 1, 2));
  EXPECT_EQ(Received(2), (Bytes{std::byte{7}, std::byte{8}}));
  wire_->BeginCollective();
  Send(Header(kBroadcast, 2, 2));
  Send({std::byte{3}, std::byte{4}});
  EXPECT_EQ(Swap(), (Bytes{std::byte{3}, std::byte{4}}));
}

TEST_F(WireTest, AnotherOperationIsNoticedBeforeItsBytesCome) {
  Send(Header(2, 1, 2));
  EXPECT_THAT(ErrorOfSwap(), ::testing::HasSubstr("rank 1 is in another collective"));
}

TEST_F(WireTest, AnotherCollectiveOfTheSameKindIsNoticedBeforeItsBytesCome) {
  Send(Header(kBroadcast, 2, 2));
  EXPECT_THAT(ErrorOfSwap(), ::testing::HasSubstr("rank 1 is in another collective"));
}

TEST_F(WireTest, AnotherSizeIsNoticedBeforeItsBytesCome) {
  Send(Header(kBroadcast, 1, uint64_t{1} << 32 | 2));
  EXPECT_THAT(ErrorOfSwap(), ::testing::HasSubstr("with another size"));
}

TEST_F(WireTest, AHeaderThatComesInPartsIsWaitedFor) {
  const Bytes header = Header(kBroadcast, 1, 2);
  Send({header.begin(), header.begin() + 12});
  const std::jthread rest([&] {
    Received(26);  // rank 0 has now sent its message and read half a header
    Send({header.begin() + 12, header.end()});
    Send({std::byte{1}, std::byte{2}});
  });
  EXPECT_EQ(ErrorOfSwap(), "");
}

}  // namespace
}  // namespace gp::engine
