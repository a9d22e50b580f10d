// JsonLineReader: takes one field out of lines of JSON, each of which is checked whole by simdjson.
// Belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::corpus {

class JsonLineReader {
 public:
  explicit JsonLineReader(std::string field);
  ~JsonLineReader();
  JsonLineReader(const JsonLineReader&) = delete;
  JsonLineReader& operator=(const JsonLineReader&) = delete;

  // So many bytes behind a line must be readable.
  static constexpr size_t kPaddingBytes = 64;

  // The text of the field; valid until the next call. InvalidArgument says what the line is
  // instead of an object with this field once, a string.
  StatusOr<std::string_view> Read(std::string_view line);

 private:
  struct Parser;

  const std::string field_;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace gp::corpus
