// BlockReader: reads a source's text in blocks that end between documents where possible. The
// blocks depend on the text only, so a block's position is enough to resume there. Memory is
// bounded for any text. Belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "corpus/block.h"
#include "corpus/source.h"
#include "formats/text_stream.h"

namespace gp::corpus {

inline constexpr size_t kBlockBytes = 1 << 19;
// Longest line of JSON, and longest word, in bytes.
inline constexpr size_t kBlockBytesMax = 1 << 24;

// The first place after 0, at or after `begin`, where a document may be cut into independently
// encoded parts, as in Tokenizer::CutAfter; text.size() if there is none.
using CutAfter = std::function<size_t(std::string_view text, size_t begin)>;

class BlockReader {
 public:
  // Resumes at `from`, which ended a block of the same source; packed text is unpacked again up to
  // there. InvalidArgument: not text, damaged, in another encoding than UTF-8.
  static StatusOr<BlockReader> Open(const Source& source, const DocumentRules& rules, CutAfter cut,
                                    const BlockPosition& from = {});

  // The next block; nullopt at the end. An empty file is one block without text if each file is a
  // document, otherwise none. InvalidArgument names the place of a line or a word that is too long.
  StatusOr<std::optional<Block>> Next();

  // Bytes that were read from the file itself, before unpacking.
  uint64_t file_offset() const { return stream_.file_offset(); }

 private:
  BlockReader(const Source& source, const DocumentRules& rules, CutAfter cut,
              formats::TextStream stream, const BlockPosition& from);

  Status Fill(size_t bytes);
  // The length of a block that ends between documents, taken from the text read so far; 0 if there
  // is no such block.
  size_t DocumentsEnd() const;
  StatusOr<size_t> CutDocument() const;
  Block Take(size_t bytes, bool inside_document);
  std::optional<Block> TakeLast();
  Status TooLong(const char* what) const;

  Source source_;
  Split split_;           // kLine for JSON lines, too
  std::string split_on_;  // for plain text; empty: no string divides it
  CutAfter cut_;
  formats::TextStream stream_;
  std::string text_;    // read but not taken yet
  bool ended_ = false;  // there is nothing more to read
  bool done_ = false;   // and no text is left to take
  BlockPosition position_;
};

}  // namespace gp::corpus
