#include "worker/sampler/streaming_detokenizer.h"

#include <algorithm>

#include "base/text/utf8.h"

namespace gp::engine {
namespace {

// The longest end of `text` that `stop` begins with, but is not.
size_t BegunBytes(std::string_view text, std::string_view stop) {
  for (size_t size = std::min(text.size(), stop.size() - 1); size > 0; --size) {
    if (text.ends_with(stop.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace

StreamingDetokenizer::StreamingDetokenizer(const Tokenizer& tokenizer,
                                           std::vector<std::string> stops, std::string begun)
    : tokenizer_(tokenizer), stops_(std::move(stops)), held_(std::move(begun)) {
  std::erase(stops_, "");
}

StreamingDetokenizer::Piece StreamingDetokenizer::Add(int32_t token) {
  held_ += tokenizer_.Decode({&token, 1});
  ends_.push_back(held_.size());
  const size_t stop = FindStop();
  if (stop == std::string::npos) return Take(CertainBytes());
  stopped_ = true;
  // A token counts when a byte of it is before the stop.
  while (ends_.size() > 1 && ends_[ends_.size() - 2] >= stop) ends_.pop_back();
  if (stop == 0) ends_.clear();
  held_.resize(stop);
  return Finish();
}

StreamingDetokenizer::Piece StreamingDetokenizer::Finish() {
  for (size_t& end : ends_) end = std::min(end, held_.size());
  return Take(held_.size());
}

size_t StreamingDetokenizer::FindStop() const {
  size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, held_.find(stop));
  return first;
}

size_t StreamingDetokenizer::CertainBytes() const {
  size_t begun = UnfinishedBytes(held_);
  for (const std::string& stop : stops_) begun = std::max(begun, BegunBytes(held_, stop));
  return held_.size() - begun;
}

StreamingDetokenizer::Piece StreamingDetokenizer::Take(size_t bytes) {
  Piece piece{.text = ValidUtf8(std::string_view(held_).substr(0, bytes))};
  held_.erase(0, bytes);
  while (!ends_.empty() && ends_.front() <= bytes) {
    ends_.pop_front();
    ++piece.tokens;
  }
  for (size_t& end : ends_) end -= bytes;
  return piece;
}

}  // namespace gp::engine
