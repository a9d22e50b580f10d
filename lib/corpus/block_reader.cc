#include "corpus/block_reader.h"

#include <algorithm>
#include <utility>

#include "corpus/json_line.h"
#include "corpus/line.h"
#include "corpus/source_content.h"

namespace gp::corpus {
namespace {

// The offset after the last complete blank line of `text`; 0 if there is none. `at_line_start`:
// `text` begins at the start of a line.
size_t LastBlankLineEnd(std::string_view text, bool at_line_start) {
  for (size_t end = text.rfind('\n'); end != std::string_view::npos && end > 0;) {
    const size_t before = text.rfind('\n', end - 1);
    const bool whole_line = before != std::string_view::npos || at_line_start;
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    if (whole_line && IsBlankLine(text.substr(begin, end - begin))) return end + 1;
    end = before;
  }
  return 0;
}

// The offset after the last complete occurrence of `string` in `text`, without overlaps from the
// front; 0 if there is none.
size_t LastEndOf(std::string_view string, std::string_view text) {
  size_t end = 0;
  for (size_t at = text.find(string); at != std::string_view::npos; at = text.find(string, end)) {
    end = at + string.size();
  }
  return end;
}

}  // namespace

BlockReader::BlockReader(const Source& source, const DocumentRules& rules, CutAfter cut,
                         formats::TextStream stream, const BlockPosition& from)
    : source_(source),
      split_(source.form == TextForm::kJsonLines ? Split::kLine : rules.split),
      split_on_(source.form == TextForm::kJsonLines ? "" : rules.split_on),
      cut_(std::move(cut)),
      stream_(std::move(stream)),
      position_(from) {}

StatusOr<BlockReader> BlockReader::Open(const Source& source, const DocumentRules& rules,
                                        CutAfter cut, const BlockPosition& from) {
  ASSIGN_OR_RETURN(formats::TextStream stream, OpenSource(source));
  BlockReader reader(source, rules, std::move(cut), std::move(stream), from);
  if (from.offset > 0) {
    RETURN_IF_ERROR(reader.stream_.Skip(from.offset));
  } else {
    reader.position_.offset = reader.stream_.mark_bytes();
  }
  return reader;
}

// Reads until `bytes` bytes are in text_ or the text ends.
Status BlockReader::Fill(size_t bytes) {
  const size_t had = text_.size();
  if (ended_ || had >= bytes) return OkStatus();
  text_.resize(bytes);
  ASSIGN_OR_RETURN(const size_t got, stream_.Read(std::span<char>(text_).subspan(had)));
  text_.resize(had + got);
  ended_ = text_.size() < bytes;
  return CheckPiece(source_, std::string_view(text_).substr(had), position_.offset + had);
}

size_t BlockReader::DocumentsEnd() const {
  switch (split_) {
    case Split::kFile:
      return split_on_.empty() ? 0 : LastEndOf(split_on_, text_);
    case Split::kLine:
      return text_.rfind('\n') + 1;  // npos + 1 is 0
    case Split::kBlankLine:
      return LastBlankLineEnd(text_, !position_.inside_document);
  }
  return 0;
}

Status BlockReader::TooLong(const char* what) const {
  return InvalidArgument(
      "{}: the {} that begins in line {}, at or after byte {} of the text, has more than {} bytes, "
      "the most that gp processes at once; split it",
      SourceName(source_), what, position_.line, position_.offset, kBlockBytesMax);
}

// Where to cut a document that is longer than a block.
StatusOr<size_t> BlockReader::CutDocument() const {
  if (source_.form == TextForm::kJsonLines) {
    if (!text_.starts_with('[')) return TooLong("line");
    return InvalidArgument("{}:{}: a list, {}", SourceName(source_), position_.line, kListToLines);
  }
  const size_t cut = cut_(text_, kBlockBytes);
  if (cut >= text_.size()) return TooLong("word");
  return cut;
}

Block BlockReader::Take(size_t bytes, bool inside_document) {
  Block block{.begin = position_};
  if (bytes == text_.size()) {
    block.text = std::exchange(text_, {});
  } else {
    block.text = text_.substr(0, bytes);
    text_.erase(0, bytes);
  }
  position_.offset += bytes;
  position_.line += std::count(block.text.begin(), block.text.end(), '\n');
  position_.inside_document = inside_document;
  block.end = position_;
  return block;
}

// If each file is a document, an empty file is one too.
std::optional<Block> BlockReader::TakeLast() {
  const bool empty_file = split_ == Split::kFile && position_.offset <= stream_.mark_bytes();
  if (done_ || (text_.empty() && !empty_file)) return std::nullopt;
  done_ = true;
  Block block = Take(text_.size(), false);
  block.last = true;
  return block;
}

StatusOr<std::optional<Block>> BlockReader::Next() {
  for (size_t wanted = kBlockBytes + 1; wanted <= kBlockBytesMax + 1; wanted = wanted * 2 - 1) {
    RETURN_IF_ERROR(Fill(wanted));
    if (ended_) return TakeLast();
    if (const size_t end = DocumentsEnd(); end > 0) return Take(end, false);
    if (split_ == Split::kFile && split_on_.empty()) {
      if (const size_t cut = cut_(text_, kBlockBytes); cut < text_.size()) return Take(cut, true);
    }
  }
  ASSIGN_OR_RETURN(const size_t cut, CutDocument());
  return Take(cut, true);
}

}  // namespace gp::corpus
