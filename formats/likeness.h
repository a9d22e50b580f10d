// Guesses what a file without a magic number holds. A guess may be wrong: a caller that refuses the
// file names the setting that accepts it. Pure functions; any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gp::formats {

struct Likeness {
  std::string what;  // "lines of JSON", for messages
  std::string way;   // "convert it: iconv -f UTF-16LE -t UTF-8"
  bool is_json_lines = false;
};

// The guesses look at the first bytes of a file, at most so many.
inline constexpr size_t kLikenessBytes = 64 << 10;

// Nullopt for what may well be text in UTF-8. `begin` holds the first kLikenessBytes of the file,
// or all of it; it may end within a character.
std::optional<Likeness> UnlikeText(std::string_view begin);

// True of words in UTF-8. `begin` as above.
bool LooksLikeText(std::string_view begin);

struct TokenForm {
  int bytes = 0;  // of a token
  bool big_endian = false;
  bool operator==(const TokenForm&) const = default;
};

// The form when `begin` looks like tokens of 4 or 8 bytes in either order; otherwise nullopt.
std::optional<TokenForm> WiderTokens(std::string_view begin);

// True of tokens of 2 bytes that make sense only with their bytes swapped: `vocabulary` has their
// ids then, or they vary as ids do, more in the lower byte than in the upper one.
bool LooksByteSwapped(std::string_view begin, int64_t vocabulary);

}  // namespace gp::formats
