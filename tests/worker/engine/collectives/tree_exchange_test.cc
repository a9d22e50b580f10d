// Goal: concurrent all-reduces. Partial sums of a later one do not wait for the finished blocks of
// an earlier one; a peer that sends something unexpected, or stops sending, ends the group with an
// error message.
#include "worker/engine/collectives/tree_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <thread>

#include "worker/engine/collectives/node_group.h"
#include "worker/engine/collectives/posted_parts.h"
#include "worker/engine/collectives/tcp_communicator.h"
#include "worker/engine/collectives/tcp_group.h"
#include "worker/engine/collectives/wire.h"

namespace gp::engine {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds kLong{30000};
// One timeout of each test takes this long; the peer needs only a small part of it for its work.
constexpr milliseconds kShort{2000};
// Forming nodes uses the sequence numbers 1 and 2.
constexpr uint64_t kFirstNumber = 3;

SteadyTime Later() { return std::chrono::steady_clock::now() + kLong; }

using Bytes = std::vector<std::byte>;

Bytes Header(uint64_t number, uint64_t size) {
  Bytes bytes;
  for (const auto& [value, width] :
       {std::pair{uint64_t{1}, 4}, {uint64_t{0}, 4}, {number, 8}, {size, 8}}) {
    for (int i = 0; i < width; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  return bytes;
}

// The test simulates rank 1 of two; rank 0 is real.
class TreeExchangeTest : public testing::TestWithParam<bool> {
 protected:
  // More than a rank may be ahead of its peers, so blocks must be received in turns.
  static constexpr size_t kHalf = 9 * TreeExchange::kBlockElements;
  static constexpr size_t kCount = 2 * kHalf;
  static constexpr int kParts = 3;

  TreeExchangeTest() : listeners_{TcpListener("127.0.0.1"), TcpListener("127.0.0.1")} {
    std::jthread own([this] { group_ = TcpCommunicator::Connect(Options(0), listeners_[0]); });
    wire_.emplace(1, ConnectTcpGroup(Options(1), listeners_[1], {}), kLong);
    FormNodes(Options(1), *wire_, nullptr, {});
    lanes_ = wire_->LanesOfSequence({0});
  }

  GroupOptions Options(int rank) const {
    return {.run_id = "run",
            .epoch = 1,
            .rank = rank,
            .logical_shards = 2,
            .addresses = {listeners_[0].address(), listeners_[1].address()},
            .secret = "secret",
            .encrypted = GetParam(),
            .connect_timeout = kLong,
            .timeout = kLong};
  }

  // All-reduces kParts parts on rank 0, where every value of part i is i + 1; returns the error.
  std::string ErrorOfSum() {
    values_.clear();
    PostedParts parts;
    for (int i = 0; i < kParts; ++i) {
      values_.emplace_back(kCount, static_cast<float>(i + 1));
      parts.Post({values_.back(), {values_.back()}});
    }
    parts.Close();
    try {
      group_->AllReduceParts(parts);
      return "";
    } catch (const CollectiveError& error) {
      return error.what();
    }
  }

  void Move(const Lane& lane, std::span<std::byte> bytes, bool sending) {
    const SteadyTime deadline = Later();
    while (!bytes.empty() && std::chrono::steady_clock::now() < deadline) {
      iovec piece{bytes.data(), bytes.size()};
      const Moved moved =
          sending ? lane.socket->Send({&piece, 1}) : lane.socket->Receive({&piece, 1});
      if (!moved.lost.empty()) break;
      bytes = bytes.subspan(moved.bytes);
      if (moved.bytes > 0) continue;
      WaitReady(lane.socket->fd(), sending ? POLLOUT : POLLIN, deadline, {});
    }
    ASSERT_TRUE(bytes.empty());
  }
  void Send(const Lane& lane, Bytes bytes) { Move(lane, bytes, true); }
  void SendFloats(const Lane& lane, float value) {
    std::vector<float> floats(kHalf, value);
    Move(lane, std::as_writable_bytes(std::span(floats)), true);
  }
  // Expects that the next half chunk contains only `value`. Counts, because under ThreadSanitizer
  // testing::Each() would take longer than the timeouts here.
  void ExpectFloats(const Lane& lane, float value) {
    std::vector<float> floats(kHalf);
    Move(lane, std::as_writable_bytes(std::span(floats)), false);
    EXPECT_EQ(std::count(floats.begin(), floats.end(), value), kHalf);
  }
  void ExpectHeader(const Lane& lane, uint64_t number) {
    Bytes header(24);
    Move(lane, header, false);
    EXPECT_EQ(header, Header(number, kCount));
  }
  const Lane& sums() const { return lanes_[0]; }
  const Lane& results() const { return lanes_[1]; }

  const std::array<TcpListener, 2> listeners_;
  std::unique_ptr<TcpCommunicator> group_;
  std::optional<Wire> wire_;
  std::vector<Lane> lanes_;
  std::deque<std::vector<float>> values_;
};
INSTANTIATE_TEST_SUITE_P(Connections, TreeExchangeTest, testing::Bool(),
                         [](const auto& one) { return one.param ? "Encrypted" : "Plain"; });

// Rank 1 sends nothing until it has received the partial sums of all parts, and no finished block
// until it has received those of rank 0.
TEST_P(TreeExchangeTest, PartialSumsOfLaterPartsDoNotWaitForResultsOfEarlierOnes) {
  std::string error;
  std::jthread rank_0([&] { error = ErrorOfSum(); });
  for (int i = 0; i < kParts; ++i) {
    ExpectHeader(sums(), kFirstNumber + static_cast<uint64_t>(i));
    ExpectFloats(sums(), static_cast<float>(i + 1));
  }
  for (int i = 0; i < kParts; ++i) {
    Send(sums(), Header(kFirstNumber + static_cast<uint64_t>(i), kCount));
    SendFloats(sums(), 10);
  }
  for (int i = 0; i < kParts; ++i) ExpectFloats(results(), static_cast<float>(i + 11));
  for (int i = 0; i < kParts; ++i) SendFloats(results(), static_cast<float>(i + 20));
  rank_0.join();
  EXPECT_EQ(error, "");
  for (int i = 0; i < kParts; ++i) {
    const std::span<float> values = values_[static_cast<size_t>(i)];
    EXPECT_THAT(values.first(kHalf), testing::Each(static_cast<float>(i + 11)));
    EXPECT_THAT(values.last(kHalf), testing::Each(static_cast<float>(i + 20)));
  }
}

TEST_P(TreeExchangeTest, APartOutOfItsTurnEndsTheGroup) {
  Send(sums(), Header(kFirstNumber + 1, kCount));
  EXPECT_THAT(ErrorOfSum(), HasSubstr("rank 1 is in another collective, or with another size"));
}

TEST_P(TreeExchangeTest, APartOfAnotherSizeEndsTheGroup) {
  std::jthread peer([this] {
    Send(sums(), Header(kFirstNumber, kCount));
    SendFloats(sums(), 1);
    Send(sums(), Header(kFirstNumber + 1, uint64_t{1} << 60));
  });
  EXPECT_THAT(ErrorOfSum(), HasSubstr("rank 1 is in another collective, or with another size"));
}

TEST_P(TreeExchangeTest, APeerThatLeavesBetweenTwoPartsIsNamed) {
  std::jthread peer([this] {
    Send(sums(), Header(kFirstNumber, kCount));
    SendFloats(sums(), 1);
    wire_->Abort("the test says so");
  });
  EXPECT_THAT(ErrorOfSum(), HasSubstr("lost rank 1"));
}

TEST_P(TreeExchangeTest, APeerThatNeverSendsItsResultsIsGivenUpAfterTheTimeout) {
  group_->SetTimeout(kShort);
  std::jthread peer([this] {
    for (int i = 0; i < kParts; ++i) {
      Send(sums(), Header(kFirstNumber + static_cast<uint64_t>(i), kCount));
      SendFloats(sums(), 1);
    }
    for (int i = 0; i < kParts; ++i) {
      ExpectHeader(sums(), kFirstNumber + static_cast<uint64_t>(i));
      ExpectFloats(sums(), static_cast<float>(i + 1));
    }
    for (int i = 0; i < kParts; ++i) ExpectFloats(results(), static_cast<float>(i + 2));
  });
  EXPECT_THAT(ErrorOfSum(), HasSubstr("lost rank 1: it sent nothing for 2000 ms"));
}

TEST_P(TreeExchangeTest, APeerThatDoesNotBeginALaterPartIsNamed) {
  group_->SetTimeout(kShort);
  std::jthread peer([this] {
    Send(sums(), Header(kFirstNumber, kCount));
    SendFloats(sums(), 1);
    ExpectHeader(sums(), kFirstNumber);
    ExpectFloats(sums(), 1);
    ExpectFloats(results(), 2);
    SendFloats(results(), 2);
  });
  EXPECT_THAT(ErrorOfSum(), HasSubstr("lost rank 1: it did not arrive within 2000 ms"));
}

// As long as this rank's first part is not ready, no peer is to blame, however long it takes.
TEST_P(TreeExchangeTest, APartThatIsLateHereIsNoTimeoutOfAPeer) {
  group_->SetTimeout(milliseconds(20));
  PostedParts parts;
  std::string error = "none";
  std::jthread rank_0([&] {
    try {
      group_->AllReduceParts(parts);
    } catch (const CollectiveError& thrown) {
      error = thrown.what();
    }
  });
  // An unexpected byte must not start the timeout, either.
  Send(sums(), {std::byte{1}});
  const SteadyTime until = std::chrono::steady_clock::now() + milliseconds(100);
  while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
  parts.Close();
  rank_0.join();
  EXPECT_EQ(error, "none");
}

}  // namespace
}  // namespace gp::engine
