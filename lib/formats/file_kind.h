// Recognises a file's kind by its first bytes, before it is read as text, tokens, a model or a
// tokenizer. Pure functions; any thread may call.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/random_access_file.h"

namespace gp::formats {

// A kind of file that has a magic number or an equally clear beginning.
struct FileKind {
  std::string_view what;  // "a zip archive", for messages
  std::string_view way;   // "unpack it: unzip {}", where {} is the file; may be empty
  bool holds_tokens = false;
};

// A file's kind depends on at most this many first bytes.
inline constexpr size_t kKindBytes = 512;

// Null for UTF-8 text, raw tokens and other files without a magic number. `begin` holds the first
// kKindBytes of the file, or all of it.
const FileKind* RecogniseKind(std::string_view begin);

// OK when the file has no known kind, or its `what` is the expected one. InvalidArgument otherwise:
// "PATH is a zip archive, expected text; unpack it: unzip PATH".
Status RefuseOtherKinds(const std::string& path, std::string_view begin, std::string_view expected);

// The same for an open file.
Status RefuseOtherKinds(const RandomAccessFile& file, std::string_view expected);

// Like the function above, for text that begins with ASCII, such as JSON, and must also be in
// UTF-8: "PATH is text in UTF-16LE, expected a JSON object; convert it: iconv -f UTF-16LE -t UTF-8
// PATH".
Status RefuseOtherText(const std::string& path, std::string_view begin, std::string_view expected);

}  // namespace gp::formats
