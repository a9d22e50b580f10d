// Guesses whether bytes are text in UTF-16 or UTF-32 without a byte order mark. Pure; any thread
// may call.
#pragma once

#include <optional>
#include <string_view>

namespace gp::formats {

// The encoding, as iconv names it: "UTF-16LE". Nullopt for everything else, token ids included.
std::optional<std::string_view> WideEncoding(std::string_view begin);

}  // namespace gp::formats
