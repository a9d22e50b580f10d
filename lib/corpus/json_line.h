// JsonLineReader: takes one field out of lines of JSON, each of which is fully checked by simdjson,
// or by our own grammar if a number is out of simdjson's range. Belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::corpus {

// The end of an error about a JSON list where lines are expected.
inline constexpr char kListToLines[] =
    "expected an object on each line; convert a list to lines with: jq -c '.[]'";

class JsonLineReader {
 public:
  // `field`: the name of a field, or of one in nested objects, with dots: "meta.text". Messages
  // name `field_key`, where the user sets it.
  JsonLineReader(std::string field, std::string field_key);
  ~JsonLineReader();
  JsonLineReader(const JsonLineReader&) = delete;
  JsonLineReader& operator=(const JsonLineReader&) = delete;

  // This many bytes past the end of a line must be readable.
  static constexpr size_t kPaddingBytes = 64;

  // The text of the field; valid until the next call. Nullopt: the field, or an object on the way
  // to it, is null. InvalidArgument says what the line has instead of an object with this field
  // exactly once, as a string.
  StatusOr<std::optional<std::string_view>> Read(std::string_view line);

 private:
  struct Parser;

  const std::string field_;
  const std::string field_key_;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace gp::corpus
