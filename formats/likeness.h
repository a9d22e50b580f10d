// What the content of a file looks like where no magic number says what it is. A guess, so whoever
// refuses a file by it names the setting that takes the file all the same. Pure functions; any
// thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gp::formats {

struct Likeness {
  std::string what;  // "raw tokens of 4 bytes (every second uint16 is 0)", for messages
  std::string way;   // "convert it: iconv -f UTF-16LE -t UTF-8"
  bool is_json_lines = false;
};

// As many bytes from the front of a file as the guesses look at.
inline constexpr size_t kLikenessBytes = 64 << 10;

// Nullopt for what may well be text in UTF-8. `begin` holds the first kLikenessBytes of the file,
// or all of it; it may end within a character.
std::optional<Likeness> UnlikeText(std::string_view begin);

// True of words in UTF-8. `begin` as above.
bool LooksLikeText(std::string_view begin);

// The bytes of a token, 4 or 8, when `begin` looks like tokens of that width; otherwise nullopt.
std::optional<int> WiderTokenBytes(std::string_view begin);

}  // namespace gp::formats
