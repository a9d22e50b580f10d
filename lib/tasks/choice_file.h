// ChoiceFile: questions with endings to choose from, one JSON object per line, as HellaSwag
// publishes them or in gp's own form (docs/formats/choices.md). The file is untrusted: every size
// is limited, and every error names file, line and expectation. Pure functions; any thread may
// call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gp::tasks {

enum class ChoiceForm {
  kHellaSwag,  // ctx, endings, label; activity_label, ctx_a and ctx_b for the harness style
  kOwn,        // question or context; choices, label
};

// The parts of HellaSwag's `ctx`.
struct HellaSwagParts {
  std::string activity_label;
  std::string ctx_a;
  std::string ctx_b;
};

struct ChoiceItem {
  int64_t line = 0;  // in the file, from 1
  std::string context;
  std::vector<std::string> endings;     // 2 to kEndingsMax, none empty
  int64_t label = 0;                    // the index of the right ending
  std::optional<HellaSwagParts> parts;  // for a line of HellaSwag that has all three
};

struct ChoiceFile {
  std::string path;
  ChoiceForm form = ChoiceForm::kHellaSwag;
  std::vector<ChoiceItem> items;  // at least one

  int64_t row_count() const;  // endings of all items
};

inline constexpr size_t kEndingsMax = 64;
inline constexpr size_t kLineBytesMax = size_t{1} << 20;
inline constexpr size_t kItemsMax = 1'000'000;
inline constexpr uint64_t kTextBytesMax = uint64_t{1} << 30;

// Reads a file, plain or packed by gzip or zstd. Its first line determines the form unless `form`
// is given; the others must have the same. Lines may end in "\r\n"; skips a byte order mark and
// blank lines. NotFound, InvalidArgument, or ResourceExhausted above the limits.
StatusOr<ChoiceFile> ReadChoiceFile(const std::string& path,
                                    std::optional<ChoiceForm> form = std::nullopt);

// The name of a file's results: the file's name without directory and endings, in plain characters
// only. "hellaswag_val" for "/data/hellaswag_val.jsonl.gz".
std::string TaskName(const std::string& path);

}  // namespace gp::tasks
