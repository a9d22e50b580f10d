// gp-fake-sampler: speaks the link protocol like gp-sampler and writes predictable texts, so that
// the gateway can be tested without the engine. The record in the checkpoint's manifest.json can
// request misbehaviour, and so can the first character of a prompt. Never use it for claims about
// probabilities.
//
// A text repeats the ids of its prompt over and over, each plus the number of the sample. The
// logprob of token t is -t/100, and its alternatives are t+1, t+2, ….
//
// record.device: "fail" (reports an error and exits), "damaged", "hang" (never ready), "slow"
// (200 ms per token), "mute" (ready, but writes nothing). A prompt that begins with 'C' ends the
// process, with 'H' makes it hang, with 'E' is answered with an error, with 'S' is slow, with 'N'
// never ends by itself and takes 5 ms per token.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/file.h"
#include "base/text/utf8.h"
#include "contract/channel.h"
#include "formats/checkpoint_directory.h"
#include "storage/local_storage.h"
#include "tokenizer/tokenizer.h"

namespace gp::fakes {
namespace {

using std::chrono::milliseconds;

struct Text {
  link::Generate request;
  int64_t written = 0;
  std::string bytes;  // of an incomplete UTF-8 character
};

class FakeSampler {
 public:
  FakeSampler() : channel_(FileDescriptor(link::kEngineDescriptor), "gateway") {}

  [[noreturn]] void Run() {
    const auto hello = Await<link::Hello>();
    Say(link::Hello{.version = "fake", .incarnation = hello.incarnation});
    Open(Await<link::OpenModel>());
    while (true) {
      Listen(texts_.empty() ? milliseconds(60000) : milliseconds(0));
      if (!texts_.empty()) WriteOnce();
    }
  }

 private:
  void Open(const link::OpenModel& model) {
    auto manifest = formats::ReadManifest(LocalStorage(), model.directory);
    if (!manifest.ok()) Fail(contract::ExitCause::kDamagedCheckpoint, Message(manifest.status()));
    manifest_ = *std::move(manifest);
    how_ = manifest_.record.device.value_or("");
    if (how_ == "fail") Fail(contract::ExitCause::kError, "failed as asked");
    if (how_ == "damaged")
      Fail(contract::ExitCause::kDamagedCheckpoint, "model.safetensors is damaged");
    if (how_ == "hang") Hang();
    const auto text = ReadFile(JoinPath(model.directory, formats::kTokenizerName));
    if (!text.ok()) Fail(contract::ExitCause::kDamagedCheckpoint, Message(text.status()));
    auto tokenizer = ParseTokenizer(*text);
    if (!tokenizer.ok()) Fail(contract::ExitCause::kDamagedCheckpoint, Message(tokenizer.status()));
    tokenizer_ = *std::move(tokenizer);
    streams_ = model.streams;
    Say(link::ModelReady{.step = manifest_.step,
                         .precision = "fp32",
                         .device = "fake",
                         .streams = streams_,
                         .context = manifest_.shape.context,
                         .vocabulary = manifest_.shape.vocabulary,
                         .memory_bytes = model.memory_bytes});
  }

  // Writes one token of every stream.
  void WriteOnce() {
    if (how_ == "mute") return Listen(milliseconds(50));
    if (how_ == "slow") std::this_thread::sleep_for(milliseconds(200));
    link::Generated generated;
    size_t stream = 0;
    for (auto text = texts_.begin(); text != texts_.end() && stream < static_cast<size_t>(streams_);
         ++stream) {
      generated.pieces.push_back(Next(*text));
      const link::TextPiece& piece = generated.pieces.back();
      text = piece.finish || piece.error ? texts_.erase(text) : text + 1;
    }
    Say(generated);
  }

  link::TextPiece Next(Text& text) {
    const link::Generate& request = text.request;
    link::TextPiece piece{.request = request.request};
    Misbehave(request, piece);
    if (piece.error) return piece;
    if (request.score_prompt && text.written == 0) {
      for (size_t i = 1; i < request.prompt.size(); ++i) {
        piece.prompt_scores.push_back(ScoreOf(request.prompt[i], *request.logprobs));
      }
    }
    if (text.written < request.max_tokens) {
      const auto length = static_cast<int64_t>(request.prompt.size());
      const int32_t said = request.prompt[static_cast<size_t>(text.written % length)];
      const int64_t sum = said + static_cast<int64_t>(request.sample);
      const auto token = static_cast<int32_t>(sum % tokenizer_->vocabulary_size());
      ++text.written;
      piece.tokens.push_back(token);
      if (request.logprobs) piece.scores.push_back(ScoreOf(token, *request.logprobs));
      text.bytes += tokenizer_->Decode({&token, 1});
    }
    if (text.written == request.max_tokens) piece.finish = "length";
    piece.text = TakeWholeCharacters(text.bytes, piece.finish.has_value());
    CutAtStop(request, piece);
    return piece;
  }

  void Misbehave(const link::Generate& request, link::TextPiece& piece) {
    const std::string prompt = tokenizer_->Decode(request.prompt);
    switch (prompt.empty() ? ' ' : prompt.front()) {
      case 'C':
        _exit(7);
      case 'H':
        Hang();
      case 'E':
        piece.error = "an error as asked";
        return;
      case 'S':
        std::this_thread::sleep_for(milliseconds(200));
        return;
      case 'N':
        std::this_thread::sleep_for(milliseconds(5));
        return;
      default:
        return;
    }
  }

  static std::string TakeWholeCharacters(std::string& bytes, bool all) {
    const size_t whole = bytes.size() - (all ? 0 : UnfinishedBytes(bytes));
    std::string text = ValidUtf8(std::string_view(bytes).substr(0, whole));
    bytes.erase(0, whole);
    return text;
  }

  // Cuts the text at a stop string. Only one-character stop strings are supported.
  static void CutAtStop(const link::Generate& request, link::TextPiece& piece) {
    for (const std::string& stop : request.stop) {
      const size_t at = piece.text.find(stop);
      if (at == std::string::npos) continue;
      piece.text.resize(at);
      piece.finish = "stop";
    }
  }

  static link::TokenScore ScoreOf(int32_t token, int64_t alternatives) {
    link::TokenScore score{.logprob = -0.01 * token};
    for (int32_t i = 1; i <= alternatives; ++i) {
      score.top.push_back(token + i);
      score.top_logprobs.push_back(-0.01 * token - 0.1 * i);
    }
    return score;
  }

  void HandleMessage(const link::Message& message) {
    if (const auto* generate = std::get_if<link::Generate>(&message)) {
      const std::string prompt = tokenizer_->Decode(generate->prompt);
      const size_t begun = generate->continues_prompt ? UnfinishedBytes(prompt) : 0;
      texts_.push_back({*generate, 0, prompt.substr(prompt.size() - begun)});
    } else if (const auto* withdraw = std::get_if<link::Withdraw>(&message)) {
      std::erase_if(texts_,
                    [&](const Text& text) { return text.request.request == withdraw->request; });
    } else if (std::holds_alternative<link::Stop>(message)) {
      _exit(0);
    }
  }

  // Handles waiting messages; waits up to `patience` for the first one.
  void Listen(milliseconds patience) {
    while (true) {
      auto message = channel_.Receive(patience);
      if (!message.ok()) _exit(0);
      if (!*message) return;
      HandleMessage(**message);
      patience = milliseconds(0);
    }
  }

  template <typename T>
  T Await() {
    while (true) {
      auto message = channel_.Receive(std::chrono::seconds(60));
      if (!message.ok()) _exit(0);
      if (*message && std::holds_alternative<T>(**message)) return std::get<T>(**message);
    }
  }

  void Say(const link::Message& message) {
    if (!channel_.Send(message).ok()) _exit(0);
  }

  [[noreturn]] void Fail(contract::ExitCause cause, const std::string& message) {
    Say(link::Failed{cause, message});
    _exit(1);
  }

  [[noreturn]] static void Hang() {
    while (true) pause();
  }

  link::Channel channel_;
  formats::CheckpointManifest manifest_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::string how_;
  int64_t streams_ = 1;
  std::deque<Text> texts_;
};

}  // namespace
}  // namespace gp::fakes

int main() { gp::fakes::FakeSampler().Run(); }
