// DocumentSplitter: the documents of a block, one after the other. Belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "corpus/block.h"
#include "corpus/source.h"

namespace gp::corpus {

// A document, or a block's part of one.
struct DocumentPart {
  std::string_view text;
  bool begins = true;  // false: it continues from the block before
  bool ends = true;    // false: it continues in the next block
  bool null = false;   // a JSON line whose field is null: no document
};

using DocumentSink = std::function<Status(const DocumentPart&)>;

// Passes the documents of `block` to `take`, until it returns an error, which becomes the result.
// Each line of JSON gives its field as a document, or as several if rules.split_on occurs in it.
// Blank lines are skipped; a null field is an error unless the rules skip it. Documents of plain
// text are the file's own bytes: line ends within them are kept, those at their end are dropped if
// lines or blank lines divide them. If a string divides documents, a part of only white space is an
// empty document. InvalidArgument names source and line.
Status SplitBlock(const Block& block, const Source& source, const DocumentRules& rules,
                  const DocumentSink& take);

// A message when rules.split_on (set by `key`) divided no file: "'---' (data.split_on) occurs in no
// file, …". That is so if `sources` gave no more `documents` than there are files. Empty otherwise,
// and when a source is lines of JSON, where the number proves nothing.
std::string DescribeUnusedSplit(const std::vector<Source>& sources, const DocumentRules& rules,
                                int64_t documents, std::string_view key);

}  // namespace gp::corpus
