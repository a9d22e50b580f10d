// StreamingDetokenizer: converts tokens, one by one, to text, and returns text as soon as it is
// final. It holds back bytes that may become part of a character (tokens split UTF-8 sequences) or
// of a stop string. What is not UTF-8 becomes U+FFFD, as ValidUtf8 does it. One thread uses one
// object.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace gp::engine {

class StreamingDetokenizer {
 public:
  struct Piece {
    std::string text;
    int64_t tokens = 0;  // number of tokens whose last byte is in `text`
  };

  // `tokenizer` outlives me. The text ends before the first of `stops` that is complete; empty ones
  // are ignored. `begun`: bytes of an unfinished character that the first token may complete; they
  // belong to the text.
  StreamingDetokenizer(const Tokenizer& tokenizer, std::vector<std::string> stops,
                       std::string begun = "");

  // The text that became final with `token`. When the text stops with it, this is the rest of the
  // text; tokens that begin after its end are not counted. REQUIRES: not stopped.
  Piece Add(int32_t token);
  // Returns everything that was held back. Call it after the last token.
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
