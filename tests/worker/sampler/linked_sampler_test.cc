// gp-sampler as a process, driven over its link as a gateway would.
#include "worker/sampler/linked_sampler.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <memory>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/random_id.h"
#include "contract/channel.h"
#include "daemon/child_process.h"
#include "worker/engine/fakes/random_checkpoint.h"

namespace gp::engine {
namespace {

constexpr std::chrono::seconds kPatience{60};

class LinkedSamplerTest : public testing::Test {
 protected:
  LinkedSamplerTest() {
    auto pair = link::Channel::MakePair();
    EXPECT_TRUE(pair.ok()) << pair.status();
    const auto pid = daemon::StartChild({.program = GP_SAMPLER_PROGRAM,
                                         .arguments = {"--link"},
                                         .descriptors = {pair->second.get()},
                                         .confined = true});
    EXPECT_TRUE(pid.ok()) << pid.status();
    pid_ = pid.value_or(-1);
    pair->second = FileDescriptor();
    channel_ = std::make_unique<link::Channel>(std::move(pair->first), "gp-sampler");
    Send(link::Hello{.incarnation = "i1"});
  }
  ~LinkedSamplerTest() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      daemon::AwaitExit(pid_);
    }
    EXPECT_TRUE(RemoveTree(directory_).ok());
  }

  void Send(const link::Message& message) { EXPECT_TRUE(channel_->Send(message).ok()); }

  // The next message of type T; skips others.
  template <typename T>
  std::optional<T> Await() {
    while (true) {
      auto message = channel_->Receive(kPatience);
      EXPECT_TRUE(message.ok()) << message.status();
      if (!message.ok() || !*message) return std::nullopt;
      if (auto* wanted = std::get_if<T>(&**message)) return std::move(*wanted);
    }
  }

  std::optional<link::ModelReady> Open(int64_t streams = 4) {
    const std::string checkpoint = WriteRandomCheckpoint(directory_, 5);
    Send(link::OpenModel{
        .directory = checkpoint, .threads = 2, .streams = streams, .memory_bytes = 1u << 30});
    return Await<link::ModelReady>();
  }

  // All pieces of one request, joined.
  link::TextPiece AwaitText(uint64_t request) {
    link::TextPiece whole{.request = request};
    while (!whole.finish && !whole.error) {
      const auto generated = Await<link::Generated>();
      if (!generated) break;
      for (const link::TextPiece& piece : generated->pieces) {
        if (piece.request != request) continue;
        whole.text += piece.text;
        whole.tokens.insert(whole.tokens.end(), piece.tokens.begin(), piece.tokens.end());
        whole.finish = piece.finish;
        whole.error = piece.error;
      }
    }
    return whole;
  }

  // Reads the remaining messages, because the sampler blocks if its supervisor does not read, and
  // returns the exit code.
  int AwaitExitCode() {
    for (auto message = channel_->Receive(kPatience); message.ok() && *message;) {
      message = channel_->Receive(kPatience);
    }
    const int status = daemon::AwaitExit(pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  const std::string directory_ = testing::TempDir() + "gp-linked-sampler-" + RandomId(8);
  int pid_ = -1;
  std::unique_ptr<link::Channel> channel_;
};

TEST_F(LinkedSamplerTest, ASupervisorOfAnotherProtocolIsRefusedInWords) {
  Send(link::Hello{.protocol = 99, .protocol_min = 98, .version = "9.9", .incarnation = "i1"});
  const auto failed = Await<link::Failed>();
  ASSERT_TRUE(failed);
  EXPECT_NE(failed->message.find("(version 9.9) supports protocols 98 to 99"), std::string::npos)
      << failed->message;
  EXPECT_EQ(AwaitExitCode(), 1);
}

link::Generate Request(uint64_t number, int64_t max_tokens) {
  return {.request = number, .prompt = {'T', 'h', 'e'}, .max_tokens = max_tokens, .seed = 3};
}

TEST_F(LinkedSamplerTest, RepeatsTheIncarnationAndDescribesTheModel) {
  const auto hello = Await<link::Hello>();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->incarnation, "i1");
  const auto ready = Open();
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->step, 5);
  EXPECT_EQ(ready->streams, 4);
  EXPECT_EQ(ready->context, kRandomModelShape.context);
  EXPECT_EQ(ready->vocabulary, 256);
  EXPECT_EQ(ready->precision, "fp32");
  EXPECT_TRUE(ready->reproducible);
  EXPECT_GT(ready->memory_bytes, 0u);
}

TEST_F(LinkedSamplerTest, AnswersMoreRequestsThanItHasStreamsWithTheTextsOfEachAlone) {
  ASSERT_TRUE(Open(2));
  Send(Request(1, 40));
  const link::TextPiece alone = AwaitText(1);
  EXPECT_EQ(alone.finish, "length");
  EXPECT_EQ(alone.tokens.size(), 40u);
  for (uint64_t number = 2; number < 12; ++number) Send(Request(number, 40));
  EXPECT_EQ(AwaitText(11).tokens, alone.tokens);
}

TEST_F(LinkedSamplerTest, AWithdrawnTextMakesRoom) {
  ASSERT_TRUE(Open(1));
  Send(Request(1, 1'000'000'000));
  ASSERT_TRUE(Await<link::Generated>());
  Send(Request(2, 3));
  Send(link::Withdraw{1});
  EXPECT_EQ(AwaitText(2).tokens.size(), 3u);
}

TEST_F(LinkedSamplerTest, StopEndsItAlsoWhileItWrites) {
  ASSERT_TRUE(Open());
  Send(Request(1, 1'000'000'000));
  ASSERT_TRUE(Await<link::Generated>());
  Send(link::Stop{"the gateway stops", {}});
  EXPECT_EQ(AwaitExitCode(), 0);
}

TEST_F(LinkedSamplerTest, ItEndsWithItsLink) {
  ASSERT_TRUE(Open());
  Send(Request(1, 1'000'000'000));
  channel_->Shutdown();
  EXPECT_GE(AwaitExitCode(), 0);
}

TEST_F(LinkedSamplerTest, SaysWhyACheckpointCannotBeOpened) {
  Send(link::OpenModel{.directory = directory_ + "/absent", .memory_bytes = 1u << 30});
  const auto failed = Await<link::Failed>();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->cause, contract::ExitCause::kStorage);
  EXPECT_NE(failed->message.find("absent"), std::string::npos);
  EXPECT_NE(AwaitExitCode(), 0);
}

TEST_F(LinkedSamplerTest, SaysThatADamagedCheckpointIsDamaged) {
  const std::string checkpoint = WriteRandomCheckpoint(directory_, 5);
  const std::string path = JoinPath(checkpoint, "model.safetensors");
  std::string bytes = ReadFile(path).value();
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
  Send(link::OpenModel{.directory = checkpoint, .memory_bytes = 1u << 30});
  const auto failed = Await<link::Failed>();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->cause, contract::ExitCause::kDamagedCheckpoint);
}

}  // namespace
}  // namespace gp::engine
