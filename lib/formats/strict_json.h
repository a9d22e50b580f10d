// A JSON document of a file that a stranger wrote, read strictly: no key twice, no byte order mark,
// no deep nesting. Pure functions; any thread may call.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gp::formats {

// InvalidArgument has the byte where the text stops being JSON, or the key.
StatusOr<nlohmann::json> ParseJsonObject(std::string_view text);

// The same of a whole file, which errors name. What is no JSON at all is refused as what it is
// (formats/file_kind.h).
StatusOr<nlohmann::json> ParseJsonFile(std::string_view text, const std::string& path);

// The value of a key; null when there is none. REQUIRES: an object.
const nlohmann::json& ValueOrNull(const nlohmann::json& object, const char* key);

}  // namespace gp::formats
