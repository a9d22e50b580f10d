// Source: a place that text comes from, as a user names it: a file, the files of a directory or of
// a pattern, standard input. Reads directories; any thread may call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace gp::corpus {

// Format of a source's bytes, after decompression.
enum class TextForm { kText, kJsonLines };

inline constexpr char kStandardInput[] = "-";

struct Source {
  std::string path;  // kStandardInput: standard input
  TextForm form = TextForm::kText;
  bool form_given = false;  // by a user: the content is not checked against it
  uint64_t size_bytes = 0;  // of the file, before decompression; 0 for standard input
  int64_t modified_ns = 0;  // since 1970; together with the size it detects a changed file
};

// The source's name in errors: its path, or "standard input".
std::string SourceName(const Source& source);

// OK while the file has the size and modification time in `source` (always OK for standard input).
// Otherwise DataLoss names it; NotFound when it is gone.
Status CheckUnchanged(const Source& source);

// The files that `arguments` name, in their order: a file itself; the matches of a pattern and the
// files below a directory, sorted. In directories, takes .txt, .jsonl, .ndjson and .json files,
// packed (.gz, .zst) or not; skips hidden ones and links to directories. `form` overrides the form
// implied by names. NotFound and InvalidArgument name the argument: nothing there, not a regular
// file, the same file twice.
StatusOr<std::vector<Source>> ExpandSources(const std::vector<std::string>& arguments,
                                            std::optional<TextForm> form = std::nullopt);

// The files in directories among `arguments` that ExpandSources() leaves out: a sentence for each
// directory with their number and an example.
StatusOr<std::vector<std::string>> DescribeLeftOut(const std::vector<std::string>& arguments);

}  // namespace gp::corpus
