#include "client/gateway/models/text_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

namespace gp::gateway {
namespace {

using ::testing::ElementsAre;

// A queue, and requests for it whose tickets are 1, 2, 3, ...
class Queue : public ::testing::Test {
 protected:
  std::shared_ptr<TextRequest> Add(const std::string& asker, size_t texts, int64_t cost = 1) {
    auto request = std::make_shared<TextRequest>();
    request->asker = asker;
    request->ticket = ++tickets_;
    request->count = texts;
    request->cost = [cost](size_t) { return cost; };
    queue_.Push(request);
    return request;
  }
  // The tickets of the next texts.
  std::vector<uint64_t> Pop(size_t texts) {
    std::vector<uint64_t> tickets;
    for (size_t i = 0; i < texts; ++i) tickets.push_back(queue_.Pop()->request->ticket);
    return tickets;
  }

  FairQueue queue_;
  uint64_t tickets_ = 0;
};

TEST_F(Queue, ClientsTakeTurns) {
  Add("greedy", 3);
  Add("greedy", 1);
  Add("modest", 1);
  EXPECT_EQ(queue_.requests(), 3u);
  EXPECT_THAT(Pop(5), ElementsAre(1, 3, 1, 1, 2));
  EXPECT_EQ(queue_.requests(), 0u);
  EXPECT_FALSE(queue_.Pop());
}

TEST_F(Queue, TurnsGoByWhatTheTextsCost) {
  Add("long", 3, 1000);
  Add("short", 4, 250);
  EXPECT_THAT(Pop(5), ElementsAre(1, 2, 2, 2, 2));
  EXPECT_THAT(Pop(2), ElementsAre(1, 1));
  EXPECT_TRUE(queue_.empty());
}

TEST_F(Queue, WhoComesBackBeginsWhereTheOthersAre) {
  Add("steady", 9);
  Add("back", 1);
  EXPECT_THAT(Pop(5), ElementsAre(1, 2, 1, 1, 1));
  // The client that returns gets no credit for the three texts that the other one got meanwhile,
  // and need not wait for them either.
  Add("back", 3);
  EXPECT_THAT(Pop(6), ElementsAre(3, 1, 3, 1, 3, 1));
}

TEST_F(Queue, WhoComesBackHasPaidForItsLastText) {
  Add("steady", 9);
  Add("back", 1, 3);
  EXPECT_THAT(Pop(2), ElementsAre(1, 2));
  Add("back", 1, 3);
  EXPECT_THAT(Pop(4), ElementsAre(1, 1, 3, 1));
}

TEST_F(Queue, NewClientsOneAfterAnotherDoNotHoldUpWhoWaits) {
  Add("waits", 8);
  Add("new 0", 1);
  for (int i = 1; i <= 100; ++i) {
    Add(fmt::format("new {}", i), 1);
    Pop(1);
  }
  EXPECT_EQ(queue_.requests_of("waits"), 0u);
}

TEST_F(Queue, ForgetsARequestThatWasPartlyTaken) {
  const auto request = Add("a", 3);
  EXPECT_EQ(queue_.Pop()->index, 0u);
  EXPECT_EQ(queue_.Find(1), request);
  EXPECT_EQ(queue_.requests_of("a"), 1u);
  queue_.Remove(1);
  EXPECT_EQ(queue_.Find(1), nullptr);
  EXPECT_EQ(queue_.requests_of("a"), 0u);
  EXPECT_FALSE(queue_.Pop());
}

TEST_F(Queue, TakesNoMemoryForClientsThatNoLongerWait) {
  constexpr int kClients = 100'000;
  constexpr size_t kBytesMax = 1 << 20;  // a lane for each client takes more than ten times that
  Add("steady", 2);
  const auto held = [] { return mallinfo2().uordblks; };
  const size_t before = held();
  if (before == 0) GTEST_SKIP() << "a sanitizer's allocator does not count what it holds";
  for (int i = 0; i < kClients; ++i) {
    Add(fmt::format("client {}", i), 1);
    if (i % 3 == 0) {
      queue_.Remove(tickets_);
    } else {
      Pop(1);
    }
    if (i % 2 == 0) Add("steady", 1);
  }
  while (queue_.Pop()) {
  }
  EXPECT_LT(held(), before + kBytesMax);
}

}  // namespace
}  // namespace gp::gateway
