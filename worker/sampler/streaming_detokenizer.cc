#include "worker/sampler/streaming_detokenizer.h"

#include <algorithm>
#include <utility>

#include "base/text/utf8.h"

namespace gp::engine {
namespace {

// The length of the longest suffix of `text` that is a proper prefix of `stop`.
size_t BegunBytes(std::string_view text, std::string_view stop) {
  for (size_t size = std::min(text.size(), stop.size() - 1); size > 0; --size) {
    if (text.ends_with(stop.substr(0, size))) return size;
  }
  return 0;
}

// The length in bytes of the first character, or of the invalid part that one U+FFFD replaces.
size_t FirstCharacterBytes(std::string_view text) {
  std::string_view rest = text;
  if (!TakeCodePoint(rest)) TakeInvalidPart(rest);
  return text.size() - rest.size();
}

}  // namespace

StreamingDetokenizer::StreamingDetokenizer(const Tokenizer& tokenizer,
                                           std::vector<std::string> stops, std::string begun)
    : tokenizer_(tokenizer),
      stops_(std::move(stops)),
      bytes_(std::move(begun)),
      prompt_began_(!bytes_.empty()) {
  std::erase(stops_, "");
}

StreamingDetokenizer::Piece StreamingDetokenizer::Add(int32_t token) {
  const size_t begun = bytes_.size();
  bytes_ += tokenizer_.Decode({&token, 1});
  const bool continues = begun == bytes_.size() || FirstCharacterBytes(bytes_) > begun;
  if (begun > 0 && !continues) Convert(begun);
  const auto begin = static_cast<std::ptrdiff_t>(held_.size());
  Convert(bytes_.size() - UnfinishedBytes(bytes_));
  tokens_.push_back({.begin = begin});
  ++open_tokens_;
  if (bytes_.empty()) CloseTokens();
  CutAtStop();
  return Take(stopped_ ? held_.size() : CertainBytes());
}

StreamingDetokenizer::Piece StreamingDetokenizer::Finish() {
  Convert(bytes_.size());
  CloseTokens();
  CutAtStop();
  return Take(held_.size());
}

void StreamingDetokenizer::Convert(size_t bytes) {
  if (bytes == 0) return;
  const std::string_view whole = std::string_view(bytes_).substr(0, bytes);
  // The bytes of the open tokens, and of the prompt, can only belong to the first character.
  const size_t first = FirstCharacterBytes(whole);
  held_ += ValidUtf8(whole.substr(0, first));
  CloseTokens();
  if (std::exchange(prompt_began_, false)) stops_from_ = held_.size();
  held_ += ValidUtf8(whole.substr(first));
  bytes_.erase(0, bytes);
}

void StreamingDetokenizer::CloseTokens() {
  const auto end = static_cast<std::ptrdiff_t>(held_.size());
  for (; open_tokens_ > 0; --open_tokens_) tokens_[tokens_.size() - open_tokens_].end = end;
}

void StreamingDetokenizer::CutAtStop() {
  const size_t stop = FindStop();
  if (stop == std::string::npos) return;
  stopped_ = true;
  const auto end = static_cast<std::ptrdiff_t>(stop);
  bytes_.clear();
  held_.resize(stop);
  CloseTokens();
  // A token counts when a byte of it is before the stop.
  while (!tokens_.empty() && tokens_.back().begin >= end) tokens_.pop_back();
  for (Span& token : tokens_) token.end = std::min(token.end, end);
}

size_t StreamingDetokenizer::FindStop() const {
  size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, held_.find(stop, stops_from_));
  return first;
}

size_t StreamingDetokenizer::CertainBytes() const {
  const std::string_view text = std::string_view(held_).substr(stops_from_);
  size_t begun = 0;
  for (const std::string& stop : stops_) begun = std::max(begun, BegunBytes(text, stop));
  return held_.size() - begun;
}

StreamingDetokenizer::Piece StreamingDetokenizer::Take(size_t bytes) {
  const auto end = static_cast<std::ptrdiff_t>(bytes);
  Piece piece{.text = held_.substr(0, bytes)};
  held_.erase(0, bytes);
  stops_from_ -= std::min(stops_from_, bytes);
  while (tokens_.size() > open_tokens_ && tokens_.front().end <= end) {
    tokens_.pop_front();
    ++piece.tokens;
  }
  for (Span& token : tokens_) {
    token.begin -= end;
    token.end -= end;
  }
  return piece;
}

}  // namespace gp::engine
