// Goal: an exchange ends with an error if the kernel refuses an operation, whatever the reason.
#include "worker/engine/collectives/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>

namespace gp::engine {
namespace {

// While it lives, this process may have no open files, which makes poll() fail.
class NoOpenFiles {
 public:
  NoOpenFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoOpenFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(Exchange, EndsWhenPollFails) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const Socket own(ends[0]);
  const Socket other(ends[1]);
  std::array<std::byte, 4> bytes{};
  std::vector<Lane> lanes(1);
  lanes[0].rank = 1;
  lanes[0].socket = &own;
  lanes[0].in.Add(bytes);
  lanes[0].in.OpenAll();
  std::string error;
  try {
    const NoOpenFiles limit;
    RunExchange(lanes, {}, {.timeout = std::chrono::seconds(60)}, "broadcast", [] {});
  } catch (const CollectiveError& thrown) {
    error = thrown.what();
  }
  EXPECT_THAT(error, testing::AllOf(testing::HasSubstr("broadcast"), testing::HasSubstr("poll")));
}

// A rank that only waits for another one has already sent a part. The rank that sent nothing blocks
// the others, so the error must name it.
TEST(Exchange, ATimeoutNamesTheRankThatSaidNothingAtAll) {
  std::array<std::array<std::byte, 8>, 2> received{};
  std::vector<Socket> own, others;
  for (int i = 0; i < 2; ++i) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    own.emplace_back(ends[0]);
    others.emplace_back(ends[1]);
  }
  std::vector<Lane> lanes(2);
  for (size_t i = 0; i < 2; ++i) {
    lanes[i].rank = static_cast<int>(i) + 1;
    lanes[i].socket = &own[i];
    lanes[i].in.Add(std::span(received[i]).first(4));
    lanes[i].in.Add(std::span(received[i]).last(4));
    lanes[i].in.OpenAll();
  }
  ASSERT_EQ(send(others[0].fd(), "half", 4, 0), 4);
  std::string error;
  try {
    RunExchange(lanes, {}, {.timeout = std::chrono::milliseconds(50)}, "sum", [] {});
  } catch (const CollectiveError& thrown) {
    error = thrown.what();
  }
  EXPECT_THAT(error, testing::HasSubstr("lost rank 2: it did not arrive within 50 ms"));
}

}  // namespace
}  // namespace gp::engine
