#include "worker/engine/sampler/token_generator.h"

#include <algorithm>

namespace gp::engine {
namespace {

// One generation under way.
class Text {
 public:
  Text(Decoder& decoder, int64_t slot, const Generation& generation)
      : decoder_(decoder),
        slot_(slot),
        generation_(generation),
        tokens_(generation.prompt.begin(), generation.prompt.end()) {
    decoder_.Clear(slot_);
  }

  bool finished() const { return written() == generation_.max_tokens; }

  // What the decoder has not read yet, as far back as it can see.
  SlotTokens Unread() {
    if (read_ > 0 && decoder_.length(slot_) == decoder_.length_max()) {
      decoder_.Clear(slot_);
      read_ = 0;
    }
    const auto window = static_cast<size_t>(decoder_.length_max());
    if (read_ == 0 && tokens_.size() > window) read_ = tokens_.size() - window;
    const SlotTokens unread{slot_, std::span<const int32_t>(tokens_).subspan(read_)};
    read_ = tokens_.size();
    return unread;
  }

  void AddToken(std::span<const float> logits) {
    const double uniform =
        KeyedUniform(generation_.seed, generation_.sample, static_cast<uint64_t>(written()));
    tokens_.push_back(SampleToken(logits, generation_.sampling, uniform));
  }

  std::vector<int32_t> Written() const { return {tokens_.end() - written(), tokens_.end()}; }

 private:
  int64_t written() const { return std::ssize(tokens_) - std::ssize(generation_.prompt); }

  Decoder& decoder_;
  const int64_t slot_;
  const Generation& generation_;
  std::vector<int32_t> tokens_;
  size_t read_ = 0;
};

// One token more for each text that is not finished. False when all are.
bool Continue(Decoder& decoder, std::vector<Text>& texts, std::vector<float>& logits) {
  std::vector<Text*> growing;
  std::vector<SlotTokens> unread;
  for (Text& text : texts) {
    if (text.finished()) continue;
    growing.push_back(&text);
    unread.push_back(text.Unread());
  }
  if (growing.empty()) return false;
  const auto classes = static_cast<size_t>(decoder.vocabulary());
  const std::span<float> rows = std::span(logits).first(growing.size() * classes);
  decoder.Append(unread, rows);
  for (size_t i = 0; i < growing.size(); ++i) {
    growing[i]->AddToken(rows.subspan(i * classes, classes));
  }
  return true;
}

}  // namespace

std::vector<std::vector<int32_t>> GenerateTokens(Decoder& decoder,
                                                 std::span<const Generation> generations,
                                                 const std::stop_token& stop) {
  std::vector<Text> texts;
  for (const Generation& generation : generations) {
    texts.emplace_back(decoder, std::ssize(texts), generation);
  }
  std::vector<float> logits(texts.size() * static_cast<size_t>(decoder.vocabulary()));
  while (!stop.stop_requested() && Continue(decoder, texts, logits)) {
  }
  std::vector<std::vector<int32_t>> written;
  for (const Text& text : texts) written.push_back(text.Written());
  return written;
}

}  // namespace gp::engine
