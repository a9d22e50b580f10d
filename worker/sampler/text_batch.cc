#include "worker/sampler/text_batch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "worker/sampler/vocabulary_scan.h"

namespace gp::engine {

class TextBatch::Text {
 public:
  Text(uint64_t id, TextRequest request)
      : id_(id), request_(std::move(request)), tokens_(request_.prompt) {}

  uint64_t id() const { return id_; }
  const TextRequest& request() const { return request_; }
  int64_t slot() const { return slot_; }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  std::span<const int32_t> written() const {
    return std::span(tokens_).subspan(request_.prompt.size());
  }
  // Decides the next token.
  double Uniform() const {
    return KeyedUniform(request_.seed, request_.sample,
                        static_cast<uint64_t>(std::ssize(written())));
  }
  bool is_scored() const { return request_.scored.has_value(); }
  bool scores_prompt() const { return is_scored() && request_.score_prompt; }
  bool is_written() const { return std::ssize(written()) >= request_.max_tokens; }
  // True when the text is at its end before any token is read.
  bool asks_nothing() const { return request_.max_tokens <= 0 && !scores_prompt(); }

  void Enter(int64_t slot, Decoder& decoder) {
    slot_ = slot;
    decoder.Clear(slot);
  }

  // The number of tokens in the window that the decoder has not read. Begins a new window when the
  // slot is full.
  int64_t CountUnread(Decoder& decoder) {
    const auto window = static_cast<size_t>(decoder.length_max());
    if (read_ > 0 && decoder.length(slot_) == decoder.length_max()) {
      decoder.Clear(slot_);
      read_ = 0;
    }
    if (read_ == 0 && tokens_.size() > window) read_ = tokens_.size() - window;
    return std::ssize(tokens_) - static_cast<int64_t>(read_);
  }

  // `drawable` ids may be drawn, of which the decoder may find the likeliest itself.
  SlotTokens Read(int64_t count, int64_t drawable, const Decoder& decoder) {
    const auto tokens =
        std::span<const int32_t>(tokens_).subspan(read_, static_cast<size_t>(count));
    read_ += static_cast<size_t>(count);
    WantedLogits wanted = read_ == tokens_.size() ? WantedLogits::kLast : WantedLogits::kNone;
    if (scores_prompt() && written().empty()) wanted = WantedLogits::kAll;
    SlotTokens read{slot_, tokens, wanted};
    const int64_t found = decoder.likely_count();
    const bool draws = wanted == WantedLogits::kLast && !is_scored() && drawable >= found;
    if (draws && NeedsOnly(request_.sampling, found, drawable)) {
      likely_.below = drawable;
      read.likely = &likely_;
    }
    return read;
  }

  bool has_read_all() const { return read_ == tokens_.size(); }
  // The index in tokens_ of the first of `read`, the tokens that were read last.
  size_t PlaceOf(const SlotTokens& read) const { return read_ - read.tokens.size(); }
  void Append(int32_t token) { tokens_.push_back(token); }

 private:
  const uint64_t id_;
  const TextRequest request_;
  int64_t slot_ = -1;
  std::vector<int32_t> tokens_;  // the prompt's, then the written ones
  LikelyTokens likely_;          // of the last pass, if the decoder found them
  size_t read_ = 0;
};

TextBatch::TextBatch(Decoder& decoder, const TextBatchOptions& options)
    : decoder_(decoder), options_(options) {
  for (int64_t slot = decoder.slots() - 1; slot >= 0; --slot) free_slots_.push_back(slot);
}

TextBatch::~TextBatch() = default;

void TextBatch::Add(uint64_t id, TextRequest request) {
  waiting_.push_back(std::make_unique<Text>(id, std::move(request)));
}

void TextBatch::Drop(uint64_t id) {
  const auto is_it = [id](const std::unique_ptr<Text>& text) { return text->id() == id; };
  std::erase_if(waiting_, is_it);
  const auto found = std::find_if(texts_.begin(), texts_.end(), is_it);
  if (found == texts_.end()) return;
  free_slots_.push_back((*found)->slot());
  texts_.erase(found);
}

void TextBatch::Admit() {
  while (!waiting_.empty() && !free_slots_.empty()) {
    waiting_.front()->Enter(free_slots_.back(), decoder_);
    free_slots_.pop_back();
    texts_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

// Plans one token for each text in progress, and as many tokens of prompts as there is room for,
// the oldest first.
void TextBatch::PlanPass() {
  added_.clear();
  reading_.clear();
  int64_t room = options_.prompt_rows;
  for (const auto& text : texts_) {
    if (text->asks_nothing()) continue;
    int64_t count = text->CountUnread(decoder_);
    if (count > 1) {
      count = std::min(count, room);
      room -= count;
    }
    if (count == 0) continue;
    added_.push_back(text->Read(count, options_.drawable, decoder_));
    reading_.push_back(text.get());
  }
}

std::vector<TextProgress> TextBatch::Advance() {
  Admit();
  PlanPass();
  const auto row = static_cast<size_t>(decoder_.vocabulary());
  size_t rows = 0;
  for (const SlotTokens& read : added_) rows += static_cast<size_t>(read.logit_rows());
  logits_.resize(std::max(logits_.size(), rows * row));
  if (!added_.empty()) decoder_.Append(added_, std::span(logits_).first(rows * row));
  std::vector<TextProgress> all;
  for (const auto& text : texts_) {
    if (text->asks_nothing()) all.push_back({.id = text->id(), .end = TextEnd::kLength});
  }
  size_t first = 0;
  for (size_t i = 0; i < added_.size(); ++i) {
    const auto count = static_cast<size_t>(added_[i].logit_rows());
    all.push_back(
        Note(*reading_[i], added_[i], std::span(logits_).subspan(first * row, count * row)));
    first += count;
  }
  for (const TextProgress& progress : all) {
    if (progress.end != TextEnd::kNone) Drop(progress.id);
  }
  return all;
}

TextProgress TextBatch::Note(Text& text, const SlotTokens& read, std::span<float> logits) const {
  TextProgress progress{.id = text.id()};
  if (read.wanted == WantedLogits::kAll) ScorePrompt(text, read, logits, progress);
  if (!text.has_read_all()) return progress;
  if (!text.is_written()) {
    const std::optional<int32_t> token =
        read.likely != nullptr
            ? Draw(text, *read.likely)
            : Draw(text, logits.last(static_cast<size_t>(decoder_.vocabulary())), progress);
    AddToken(text, token, progress);
  }
  if (progress.end == TextEnd::kNone && text.is_written()) progress.end = TextEnd::kLength;
  return progress;
}

// Scores each prompt token with the logits after the token before it.
void TextBatch::ScorePrompt(const Text& text, const SlotTokens& read, std::span<const float> logits,
                            TextProgress& progress) const {
  const auto row = static_cast<size_t>(decoder_.vocabulary());
  const auto& prompt = text.request().prompt;
  const size_t next = text.PlaceOf(read) + 1;
  for (size_t i = 0; i < read.tokens.size() && next + i < prompt.size(); ++i) {
    progress.prompt_scores.push_back(ScoreToken(logits.subspan(i * row, row), options_.drawable,
                                                prompt[next + i], *text.request().scored));
  }
}

std::optional<int32_t> TextBatch::Draw(const Text& text, const LikelyTokens& likely) {
  if (!std::isfinite(likely.logits[0])) return std::nullopt;
  return SampleToken(likely, text.request().sampling, text.Uniform());
}

std::optional<int32_t> TextBatch::Draw(const Text& text, std::span<float> logits,
                                       TextProgress& progress) const {
  const TextRequest& request = text.request();
  const std::span<float> drawable = logits.first(static_cast<size_t>(options_.drawable));
  if (!std::isfinite(LargestLogit(drawable))) return std::nullopt;
  // Scores use the logits before any adjustment.
  const std::vector<float> given =
      text.is_scored() ? std::vector<float>(logits.begin(), logits.end()) : std::vector<float>();
  AdjustLogits(request.sampling, text.written(), drawable);
  const int32_t token = SampleToken(drawable, request.sampling, text.Uniform());
  if (text.is_scored()) {
    progress.score = ScoreToken(given, options_.drawable, token, *request.scored);
  }
  return token;
}

void TextBatch::AddToken(Text& text, std::optional<int32_t> token, TextProgress& progress) {
  if (!token) {
    progress.end = TextEnd::kNotFinite;
    return;
  }
  const std::vector<int32_t>& ends = text.request().end_tokens;
  if (std::ranges::find(ends, *token) != ends.end()) {
    progress.end = TextEnd::kEndToken;
    progress.score = {};
    return;
  }
  progress.token = token;
  text.Append(*token);
}

}  // namespace gp::engine
