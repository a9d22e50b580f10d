// StreamingDetokenizer: converts tokens, one by one, to text, and returns text as soon as it is
// final. It holds back bytes that may become part of a character (tokens split UTF-8 sequences) or
// of a stop string. Bytes that are not UTF-8 become U+FFFD, as in ValidUtf8; stop strings are
// compared with the text that results, which is the one that the client sees. One thread uses one
// object.
#pragma once

#include <cstddef>
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

  // `tokenizer` must outlive this object. The text ends before the first of `stops` that is
  // complete; empty ones are ignored. `begun`: bytes of an unfinished character that the first
  // token may complete. The character belongs to the text, but a stop string cannot begin with it,
  // because it began in the prompt.
  StreamingDetokenizer(const Tokenizer& tokenizer, std::vector<std::string> stops,
                       std::string begun = "");

  // The text that became final with `token`. When the text stops with it, this is the rest of the
  // text; tokens that begin after its end are not counted. REQUIRES: not stopped.
  Piece Add(int32_t token);
  // Returns everything that was held back, up to a stop string that is complete only now: an
  // unfinished character at the end becomes U+FFFD. Call it after the last token. REQUIRES: not
  // stopped.
  Piece Finish();

  bool stopped() const { return stopped_; }

 private:
  // Where a token's text stands in held_: from the start of the character that has its first byte
  // to the end of the one that has its last. Negative: in text that was already returned.
  struct Span {
    std::ptrdiff_t begin = 0;
    std::ptrdiff_t end = 0;
  };

  // Moves the first `bytes` of bytes_ to held_, as UTF-8. REQUIRES: they are whole characters, or
  // no more bytes follow.
  void Convert(size_t bytes);
  // Sets the end of all open tokens to the end of held_.
  void CloseTokens();
  // If held_ has a stop string, drops the first one and everything after it.
  void CutAtStop();
  size_t FindStop() const;
  size_t CertainBytes() const;
  Piece Take(size_t bytes);

  const Tokenizer& tokenizer_;
  std::vector<std::string> stops_;
  std::string bytes_;        // of an unfinished character
  bool prompt_began_;        // the prompt's bytes are among them
  std::string held_;         // text that was not returned yet
  size_t stops_from_ = 0;    // where in held_ a stop string may begin
  std::deque<Span> tokens_;  // those that were not returned yet
  size_t open_tokens_ = 0;   // the last of them, which end in bytes_
  bool stopped_ = false;
};

}  // namespace gp::engine
