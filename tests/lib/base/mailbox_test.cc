#include "base/mailbox.h"

#include <gtest/gtest.h>

#include <thread>

namespace gp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Mailbox, KeepsTheOrderOfASender) {
  Mailbox<int> mailbox(8);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(mailbox.Post(i, seconds(1)));
  EXPECT_EQ(mailbox.Drain(8, seconds(1)), (std::vector<int>{0, 1, 2}));
}

TEST(Mailbox, RefusesWhatDoesNotFit) {
  Mailbox<int> mailbox(1);
  int first = 1;
  int second = 2;
  EXPECT_TRUE(mailbox.TryPost(first));
  EXPECT_FALSE(mailbox.TryPost(second));
  EXPECT_EQ(second, 2);
}

TEST(Mailbox, CloseWakesAWaitingReceiver) {
  Mailbox<int> mailbox(1);
  std::jthread closer([&] { mailbox.Close(); });
  EXPECT_TRUE(mailbox.Drain(1, seconds(30)).empty());
}

TEST(Mailbox, IsDrainedWhenClosedAndEmpty) {
  Mailbox<int> mailbox(1);
  EXPECT_FALSE(mailbox.drained());
  ASSERT_TRUE(mailbox.Post(1, seconds(1)));
  mailbox.Close();
  EXPECT_FALSE(mailbox.drained()) << "a message is left";
  EXPECT_EQ(mailbox.Receive(seconds(1)), 1);
  EXPECT_TRUE(mailbox.drained());
}

// A receiver whose wait ends just before the last message arrives must still get that message.
TEST(Mailbox, LosesNothingThatIsPostedBetweenAReceiveAndTheQuestionWhetherToLeave) {
  for (int round = 0; round < 200; ++round) {
    Mailbox<int> mailbox(4);
    int received = 0;
    std::jthread receiver([&] {
      while (!mailbox.drained()) received += mailbox.Receive(milliseconds(0)).has_value();
    });
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(mailbox.Post(i, seconds(30)));
    mailbox.Close();
    receiver.join();
    ASSERT_EQ(received, 4) << "round " << round;
  }
}

TEST(Mailbox, DeliversEveryMessageOfManySendersOnce) {
  Mailbox<int> mailbox(4);
  constexpr int kSenders = 4;
  constexpr int kEach = 500;
  std::vector<std::jthread> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&mailbox] {
      for (int i = 0; i < kEach; ++i) ASSERT_TRUE(mailbox.Post(1, seconds(30)));
    });
  }
  int received = 0;
  while (received < kSenders * kEach) {
    const auto batch = mailbox.Drain(16, seconds(30));
    ASSERT_FALSE(batch.empty());
    received += static_cast<int>(batch.size());
  }
  EXPECT_TRUE(mailbox.Drain(1, milliseconds(0)).empty());
}

}  // namespace
}  // namespace gp
