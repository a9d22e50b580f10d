// Recognises text in UTF-16 or UTF-32 without a byte order mark. Pure; any thread may call.
#pragma once

#include <optional>
#include <string_view>

namespace gp::formats {

// Guesses the encoding, as iconv names it: "UTF-16LE". Nullopt for everything else, token ids
// included.
std::optional<std::string_view> WideEncoding(std::string_view begin);

// The encoding of a text that begins with two ASCII characters, as JSON and run files do. Certain,
// because no text holds a byte of value 0 (RFC 4627, section 3).
std::optional<std::string_view> WideEncodingOfAscii(std::string_view begin);

}  // namespace gp::formats
