// BlockEncoder: encodes a block of text into the bytes of its tokens, with the end-of-text token
// before or after each document as the rules say. Strings that often separate documents
// (<|endoftext|>, and the text of the tokenizer's own end-of-text token) are encoded as ordinary
// text and only counted. Constant after construction; any thread may call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "corpus/block.h"
#include "corpus/source.h"
#include "formats/dataset_file.h"
#include "tokenizer/tokenizer.h"

namespace gp::corpus {

// A document of a block, or the block's part of one.
struct EncodedDocument {
  int64_t tokens = 0;  // of this part of the document, its end-of-text token included
  bool begins = true;
};

struct EncodedBlock {
  std::string tokens;  // little endian, documents one after the other
  std::vector<EncodedDocument> documents;
  int64_t empty_documents = 0;  // left out
  int64_t null_lines = 0;       // JSON lines that were skipped
  formats::SpelledEnds spelled_ends;
};

struct EncodingRules {
  DocumentRules documents;
  formats::EndOfTextPlacement placement = formats::EndOfTextPlacement::kNone;
  int token_bytes = 2;
};

class BlockEncoder {
 public:
  // `tokenizer` must outlive this. REQUIRES: it has an end-of-text token unless the placement is
  // none, and token_bytes hold its largest id.
  BlockEncoder(const Tokenizer& tokenizer, EncodingRules rules);

  // InvalidArgument names source and place.
  StatusOr<EncodedBlock> Encode(const Block& block, const Source& source) const;

  // Where a document may be cut into blocks: as Tokenizer::CutAfter, but never within a counted
  // string. Also text.size() if too little text follows to decide.
  size_t CutAfter(std::string_view text, size_t begin) const;

  const EncodingRules& rules() const { return rules_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

 private:
  Status AddText(std::string_view text, EncodedBlock& encoded) const;
  void AddEndOfText(EncodedBlock& encoded) const;

  const Tokenizer& tokenizer_;
  const EncodingRules rules_;
  const std::vector<std::string> ends_;  // strings that are counted
};

}  // namespace gp::corpus
