// Text files of a run's data, plain or packed by gzip or zstd (formats/text_stream.h). Packed text
// is unpacked piece by piece and counted on the way: a small file that unpacks to a huge text costs
// no more memory than the caller allows. Any thread may call.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::formats {

// How to treat a file that does not look like text (formats/likeness/likeness.h).
struct TextCheck {
  bool any_content = false;  // accepts it anyway
  std::string setting = {};  // the setting for `any_content`, for messages: "data.format: text"
};

// Passes the text to `take` in pieces, until it returns an error, which becomes the result.
// InvalidArgument names file, offset and expectation: not text, packed by another program, damaged,
// cut short. ResourceExhausted: the text is longer than `text_bytes_max`.
Status ReadTextFile(const std::string& path, const TextCheck& check, uint64_t text_bytes_max,
                    const std::function<Status(std::string_view)>& take);

// Returns the whole text in one piece, with the same errors.
StatusOr<std::string> ReadTextFile(const std::string& path, const TextCheck& check,
                                   uint64_t text_bytes_max);

}  // namespace gp::formats
