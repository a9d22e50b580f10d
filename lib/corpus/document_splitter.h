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

// A document, or what a block holds of one.
struct DocumentPart {
  std::string_view text;
  bool begins = true;  // false: it goes on from the block before
  bool ends = true;    // false: it goes on in the next block
  bool null = false;   // a JSON line whose field is null: no document
};

using DocumentSink = std::function<Status(const DocumentPart&)>;

// Passes the documents of `block` to `take`, until it returns an error, which becomes the result.
// Each line of JSON gives its field as a document. Blank lines are skipped; a field that is null is
// an error unless the rules skip it. Documents of plain text are the
// file's own bytes: line ends within them stay as they are, those at their end are left out where
// lines or blank lines divide them. Where a string divides documents, what holds white space alone
// is an empty one. InvalidArgument names source and line.
Status SplitBlock(const Block& block, const Source& source, const DocumentRules& rules,
                  const DocumentSink& take);

// "'---' (data.split_on) divides no file: …": when so few documents came of `sources` that
// rules.split_on, set by `key`, divided none. Empty otherwise, and where their number does not
// tell: lines of JSON.
std::string DescribeUnusedSplit(const std::vector<Source>& sources, const DocumentRules& rules,
                                int64_t documents, std::string_view key);

}  // namespace gp::corpus
