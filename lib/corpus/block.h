// Block: a part of a source's text, small enough to be worked on at once, and the rules by which
// text falls into documents. Plain data.
#pragma once

#include <cstdint>
#include <string>

namespace gp::corpus {

// What a document of plain text is.
enum class Split {
  kFile,       // the whole file
  kBlankLine,  // what stands between blank lines
  kLine,       // each line
};

struct DocumentRules {
  Split split = Split::kFile;
  // Documents end at this string, too, which belongs to none of them; empty: at no string. Of plain
  // text only where a document is a file.
  std::string split_on;
  std::string field = "text";  // of JSON lines: the field that holds the text; "a.b": in an object
  std::string field_key = "--text-field";  // where the user sets `field`, for messages
  bool skip_null = false;  // leaves out JSON lines whose field is null; otherwise an error
};

// A place between two blocks of a source: where reading can go on.
struct BlockPosition {
  uint64_t offset = 0;           // in the text, unpacked
  int64_t line = 1;              // of the place, for messages
  bool inside_document = false;  // the block before it ended within a document

  bool operator==(const BlockPosition&) const = default;
};

struct Block {
  std::string text;
  BlockPosition begin;
  BlockPosition end;
  bool last = false;  // of its source, as far as was known when it was read
};

}  // namespace gp::corpus
