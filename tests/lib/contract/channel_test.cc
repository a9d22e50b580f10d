#include "contract/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "contract/codec.h"

namespace gp::link {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A channel and its peer's raw socket.
struct Ends {
  FileDescriptor raw;
  std::unique_ptr<Channel> channel;

  static Ends Make() {
    auto pair = Channel::MakePair();
    EXPECT_TRUE(pair.ok()) << pair.status();
    return {std::move(pair->first), std::make_unique<Channel>(std::move(pair->second), "peer")};
  }
  void Write(std::string_view bytes) const { ASSERT_TRUE(WriteAll(raw.get(), bytes, "raw").ok()); }
};

struct Channels {
  std::unique_ptr<Channel> left;
  std::unique_ptr<Channel> right;

  static Channels Make() {
    auto pair = Channel::MakePair();
    EXPECT_TRUE(pair.ok()) << pair.status();
    return {std::make_unique<Channel>(std::move(pair->first), "left"),
            std::make_unique<Channel>(std::move(pair->second), "right")};
  }
};

TEST(LinkChannel, DeliversInOrderBothWays) {
  const Channels channels = Channels::Make();
  for (uint64_t epoch = 1; epoch <= 3; ++epoch) {
    ASSERT_TRUE(channels.left->Send(Go{epoch}).ok());
    ASSERT_TRUE(channels.right->Send(Ready{epoch, 7}).ok());
  }
  for (uint64_t epoch = 1; epoch <= 3; ++epoch) {
    const auto go = channels.right->Receive(seconds(60));
    ASSERT_TRUE(go.ok() && go->has_value());
    EXPECT_EQ(std::get<Go>(**go).epoch, epoch);
    const auto ready = channels.left->Receive(seconds(60));
    ASSERT_TRUE(ready.ok() && ready->has_value());
    EXPECT_EQ(std::get<Ready>(**ready).epoch, epoch);
  }
}

TEST(LinkChannel, NothingWithinTheTimeoutIsNotAnError) {
  const Channels channels = Channels::Make();
  const auto nothing = channels.left->Receive(milliseconds(1));
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_FALSE(nothing->has_value());
}

TEST(LinkChannel, AFrameThatArrivesByteByByteIsOneMessage) {
  const Ends ends = Ends::Make();
  const std::string frame = EncodeFrame(Stop{"enough"});
  for (size_t i = 0; i < frame.size(); ++i) {
    const auto early = ends.channel->Receive(std::chrono::nanoseconds(0));
    ASSERT_TRUE(early.ok() && !early->has_value()) << "byte " << i;
    ends.Write(std::string_view(frame).substr(i, 1));
  }
  const auto whole = ends.channel->Receive(seconds(60));
  ASSERT_TRUE(whole.ok() && whole->has_value());
  EXPECT_EQ(std::get<Stop>(**whole).reason, "enough");
}

TEST(LinkChannel, AStreamCutAtAnyByteIsAClosedPeer) {
  const std::string frame = EncodeFrame(Ready{3, 12});
  for (size_t size = 0; size < frame.size(); ++size) {
    Ends ends = Ends::Make();
    ends.Write(std::string_view(frame).substr(0, size));
    ends.raw.Close();
    const auto cut = ends.channel->Receive(seconds(60));
    ASSERT_EQ(cut.status().code(), StatusCode::kUnavailable) << "cut after " << size;
  }
}

TEST(LinkChannel, SkipsTypesItDoesNotKnow) {
  const Ends ends = Ends::Make();
  std::string unknown = EncodeFrame(Go{1});
  unknown[4] = 99;
  ends.Write(unknown + unknown + EncodeFrame(Go{2}));
  const auto next = ends.channel->Receive(seconds(60));
  ASSERT_TRUE(next.ok() && next->has_value());
  EXPECT_EQ(std::get<Go>(**next).epoch, 2u);
}

TEST(LinkChannel, RefusesAnOversizeFrameBeforeItArrives) {
  const Ends ends = Ends::Make();
  ends.Write(std::string_view("\xff\xff\xff\xff\x04\x00\x00\x00", 8));
  const auto refused = ends.channel->Receive(seconds(60));
  EXPECT_EQ(refused.status().code(), StatusCode::kDataLoss);
  EXPECT_NE(gp::Message(refused.status()).find("link to peer"), std::string::npos);
}

TEST(LinkChannel, RefusesPayloadsThatAreNotTheirType) {
  for (const std::string payload : {"", "[]", "7", "{\"epoch\":", "{\"epoch\":[[[[", "\xff\xfe"}) {
    const Ends ends = Ends::Make();
    std::string frame("\0\0\0\0\x04\0\0\0", 8);
    frame[0] = static_cast<char>(payload.size());
    ends.Write(frame + payload);
    EXPECT_EQ(ends.channel->Receive(seconds(60)).status().code(), StatusCode::kDataLoss) << payload;
  }
}

TEST(LinkChannel, RefusesToSendWhatThePeerWouldRefuse) {
  const Channels channels = Channels::Make();
  const Status status = channels.left->Send(Stop{std::string(kPayloadBytesMax + 1, 'x')});
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

TEST(LinkChannel, TheLargestPayloadPasses) {
  const Channels channels = Channels::Make();
  const std::string text(kPayloadBytesMax - std::string_view(R"({"reason":""})").size(), 'x');
  std::jthread sender([&] { EXPECT_TRUE(channels.left->Send(Stop{text}, seconds(100)).ok()); });
  const auto received = channels.right->Receive(seconds(100));
  ASSERT_TRUE(received.ok() && received->has_value()) << received.status();
  EXPECT_EQ(std::get<Stop>(**received).reason.size(), text.size());
}

TEST(LinkChannel, SendingToAClosedPeerIsUnavailable) {
  Ends ends = Ends::Make();
  ends.raw.Close();
  EXPECT_EQ(ends.channel->Send(Go{1}).code(), StatusCode::kUnavailable);
}

TEST(LinkChannel, SendGivesUpOnAPeerThatDoesNotRead) {
  const Channels channels = Channels::Make();
  const Stop large{std::string(1 << 20, 'x')};
  Status status;
  for (int i = 0; i < 64 && status.ok(); ++i) {
    status = channels.left->Send(large, milliseconds(5));
  }
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status;
  // Only part of a frame was sent, so the channel was closed.
  EXPECT_EQ(channels.left->Send(Go{1}).code(), StatusCode::kUnavailable);
}

TEST(LinkChannel, ShutdownWakesAReceiverInAnotherThread) {
  const Channels channels = Channels::Make();
  std::jthread closer([&] { channels.left->Shutdown(); });
  EXPECT_EQ(channels.left->Receive(seconds(60)).status().code(), StatusCode::kUnavailable);
}

TEST(LinkChannel, FramesOfSeveralSendersDoNotMix) {
  const Channels channels = Channels::Make();
  constexpr int kSenders = 4;
  constexpr int kEach = 25;
  std::vector<std::jthread> senders;
  for (int sender = 0; sender < kSenders; ++sender) {
    senders.emplace_back([&] {
      const Stop message{std::string(50000, 'x')};
      for (int i = 0; i < kEach; ++i) ASSERT_TRUE(channels.left->Send(message).ok());
    });
  }
  for (int i = 0; i < kSenders * kEach; ++i) {
    const auto message = channels.right->Receive(seconds(60));
    ASSERT_TRUE(message.ok() && message->has_value()) << message.status();
    EXPECT_EQ(std::get<Stop>(**message).reason.size(), 50000u);
  }
}

}  // namespace
}  // namespace gp::link
