// Block: a part of a source's text, small enough to be processed at once, and the rules that divide
// text into documents. Plain data.
#pragma once

#include <cstdint>
#include <string>

namespace gp::corpus {

// How plain text is divided into documents.
enum class Split {
  kFile,       // the whole file
  kBlankLine,  // the text between blank lines
  kLine,       // each line
};

struct DocumentRules {
  Split split = Split::kFile;
  // Documents also end at this string, which belongs to no document. If it is empty, there is no
  // such string. Plain text may have it only if each file is one document.
  std::string split_on;
  std::string field = "text";  // for JSON lines: the field that holds the text; "a.b": in an object
  std::string field_key = "--text-field";  // where the user sets `field`, for messages
  bool skip_null = false;  // leaves out JSON lines whose field is null; otherwise an error
};

// A place between two blocks of a source, where reading can resume.
struct BlockPosition {
  uint64_t offset = 0;           // in the unpacked text
  int64_t line = 1;              // the line of this place, for messages
  bool inside_document = false;  // the block before it ended within a document

  bool operator==(const BlockPosition&) const = default;
};

struct Block {
  std::string text;
  BlockPosition begin;
  BlockPosition end;
  bool last = false;  // last of its source, as far as known when it was read
};

}  // namespace gp::corpus
