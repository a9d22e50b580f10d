// Reads a JSON document from an untrusted file, strictly: refuses duplicate keys, a byte order mark
// and deep nesting. Pure functions; any thread may call.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::formats {

// The object in `text`. InvalidArgument has the byte where the text stops being JSON, or the key
// that occurs twice. More than 16 nested lists and objects are refused.
StatusOr<nlohmann::json> ParseJsonObject(std::string_view text);

// The same for a whole file; errors name it. A file that is not JSON at all is refused by its kind
// (formats/file_kind.h).
StatusOr<nlohmann::json> ParseJsonFile(std::string_view text, const std::string& path);

// The value of a key; null if absent. REQUIRES: an object.
const nlohmann::json& ValueOrNull(const nlohmann::json& object, const char* key);

}  // namespace gp::formats
