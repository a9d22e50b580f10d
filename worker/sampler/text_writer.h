// TextWriter: answers requests for texts, many at a time, with the link's messages: it takes a
// Generate and returns pieces of its text after each pass through the model (docs/formats/link.md).
// It extends a TextBatch with the handling of characters, stop strings, the end-of-text token, and
// requests that are refused. One thread calls; errors of the decoder are exceptions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "contract/messages.h"
#include "tokenizer/tokenizer.h"
#include "worker/sampler/streaming_detokenizer.h"
#include "worker/sampler/text_batch.h"

namespace gp::engine {

class TextWriter {
 public:
  // `decoder` and `tokenizer` must outlive this object.
  TextWriter(Decoder& decoder, const Tokenizer& tokenizer, int64_t prompt_rows = 64);

  // If the request cannot be served, the next Advance answers it with a piece that has an error.
  void Add(const link::Generate& request);
  // Ends the text. Its stream is free for the next pass, and no more of its pieces follow.
  void Withdraw(uint64_t request);

  bool idle() const { return batch_.idle() && refused_.empty(); }

  // One pass through the model.
  link::Generated Advance();

  // Only ids below this may be drawn: those that the tokenizer and the model have.
  int64_t drawable() const { return drawable_; }

 private:
  // A text in progress: the parts that were written but not returned yet.
  struct Text {
    StreamingDetokenizer stream;
    bool is_scored = false;
    std::vector<int32_t> tokens;
    std::vector<link::TokenScore> scores;
    std::vector<link::TokenScore> prompt_scores;
  };

  std::string WhyImpossible(const link::Generate& request) const;
  link::TextPiece Note(TextProgress progress, Text& text);
  static void GiveOut(StreamingDetokenizer::Piece certain, Text& text, link::TextPiece& piece);

  Decoder& decoder_;
  const Tokenizer& tokenizer_;
  const int64_t drawable_;
  TextBatch batch_;
  std::map<uint64_t, Text> texts_;
  std::vector<link::TextPiece> refused_;
};

}  // namespace gp::engine
