// The files of a tokenizer as text and as JSON, with a bound on their size. Any thread may call.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/status.h"

namespace gp {

// Errors name `path`: an empty file, one above 32 MiB, a file that is not text.
StatusOr<std::string> ReadTokenizerText(const std::string& path);

// The object in a JSON file, read strictly.
StatusOr<nlohmann::json> ReadJsonFile(const std::string& path);

}  // namespace gp
