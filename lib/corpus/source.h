// Source: a place that text comes from, as a user names it: a file, the files of a directory or of
// a pattern, standard input. Reads directories; any thread may call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace gp::corpus {

// What the bytes of a source are, once they are unpacked.
enum class TextForm { kText, kJsonLines };

inline constexpr char kStandardInput[] = "-";

struct Source {
  std::string path;  // kStandardInput: standard input
  TextForm form = TextForm::kText;
  bool form_given = false;  // by a user: what the source looks like does not count
  uint64_t size_bytes = 0;  // of the file, packed as it is; 0 of standard input
  int64_t modified_ns = 0;  // since 1970; with the size it tells whether the file is still the same
};

// What errors call it: its path, or "standard input".
std::string SourceName(const Source& source);

// OK while the file of `source` is as it was when it was looked at; DataLoss names it otherwise.
Status CheckUnchanged(const Source& source);

// The files that `arguments` name, in their order: a file itself, the matches of a pattern and the
// files below a directory sorted. Of a directory those named .txt, .jsonl, .ndjson and .json are
// taken, packed (.gz, .zst) or not; hidden ones and links to directories are passed by. `form`
// overrides what the names say. NotFound and InvalidArgument name the argument: nothing there, no
// regular file, the same file twice.
StatusOr<std::vector<Source>> ExpandSources(const std::vector<std::string>& arguments,
                                            std::optional<TextForm> form = std::nullopt);

// What ExpandSources() leaves out of the directories among `arguments`: a sentence for each that
// holds other files, too, with their number and one of them.
StatusOr<std::vector<std::string>> DescribeLeftOut(const std::vector<std::string>& arguments);

}  // namespace gp::corpus
