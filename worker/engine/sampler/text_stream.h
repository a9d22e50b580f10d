// TextStream: the text of tokens that come one by one, given out as early as it is certain. Held
// back is what may still become part of a character (tokens split UTF-8 sequences) or of a stop
// string. Bytes that are no UTF-8 become U+FFFD. One thread uses one object.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace gp::engine {

class TextStream {
 public:
  struct Piece {
    std::string text;
    int64_t tokens = 0;  // the next so many tokens: those whose last byte is in `text`
  };

  // `tokenizer` outlives me. The text ends before the one of `stops` that is complete first; empty
  // ones mean nothing.
  TextStream(const Tokenizer& tokenizer, std::vector<std::string> stops);

  // What became certain with `token`. When the text has stopped with it, that is all that is left
  // of the text; tokens that begin behind its end are left out. REQUIRES: not stopped.
  Piece Add(int32_t token);
  // All that was held back: no token follows.
  Piece Finish();

  bool stopped() const { return stopped_; }

 private:
  size_t FindStop() const;
  size_t CertainBytes() const;
  Piece Take(size_t bytes);

  const Tokenizer& tokenizer_;
  std::vector<std::string> stops_;
  std::string held_;         // bytes that were not given out
  std::deque<size_t> ends_;  // where in held_ the tokens end that were not given out
  bool stopped_ = false;
};

}  // namespace gp::engine
