#include "fakes/hostile_words.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>

#include "contract/codec.h"

namespace gp::fakes {
namespace {

void SendAll(int link, const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count = send(link, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;  // the agent reads no more
    sent += static_cast<size_t>(count);
  }
}

void Say(int link, const link::Message& message) { SendAll(link, link::EncodeFrame(message)); }

link::CheckpointReport Checkpoint(int64_t step) {
  return {{.step = step, .directory = "/", .manifest_digest = "0"}, 1};
}

link::StepReport Step(int64_t step) {
  return {
      .point = {.step = step, .epoch = 1, .warning = std::string(4000, 'w'), .at_us = INT64_MAX},
      .rank = {}};
}

void SayEverything(int link) {
  Say(link, link::Finished{.epoch = 1, .step = INT64_MAX});
  Say(link, Checkpoint(INT64_MAX));
  Say(link, Step(INT64_MAX));
  Say(link, link::Ready{.epoch = UINT64_MAX, .step = -1});
  Say(link, link::Listening{.address = "127.0.0.1:1"});
  Say(link, link::Ready{.epoch = 1, .step = INT64_MAX});
  Say(link, link::Failed{contract::ExitCause::kUnspecified, std::string(30'000, '\x1b')});
}

// Sends message(1), message(2) and so on, without end.
[[noreturn]] void Repeat(int link, const std::function<link::Message(int64_t)>& message) {
  for (int64_t n = 1;; ++n) Say(link, message(n));
}

}  // namespace

void SayHostileWords(const std::string& kind, int link) {
  if (kind == "garbage") SendAll(link, std::string(100'000, '\xff'));
  if (kind == "large")
    SendAll(link, std::string("\0\0\0\1\1\0\0\0", 8) + std::string(1 << 24, '['));
  if (kind == "half") SendAll(link, std::string("\100\0\0\0\1\0\0\0{", 9));
  if (kind == "foreign") Say(link, link::Start{.run_id = "victim", .epoch = 1});
  if (kind == "early") SayEverything(link);
  if (kind == "offer") {
    Say(link,
        link::Listening{.address = "h:1", .kernels = {{{"avx2", std::string(200'000, 'k')}}}});
  }
  if (kind == "checkpoints") Repeat(link, Checkpoint);
  if (kind == "steps") Repeat(link, Step);
  while (kind == "lines" && write(STDERR_FILENO, std::string(1 << 16, 'l').data(), 1 << 16) > 0) {
  }
  while (true) pause();
}

}  // namespace gp::fakes
