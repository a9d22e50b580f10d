// Guesses the contents of a file without a magic number. A guess may be wrong: a caller that
// refuses the file names the setting that accepts it. Pure functions; any thread may call.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gp::formats {

struct Likeness {
  std::string what;  // "lines of JSON", for messages
  std::string way;   // "convert it: iconv -f UTF-16LE -t UTF-8 {}", where {} is the file
  bool is_json_lines = false;
};

// `way` with its {} replaced by `path`, quoted for a shell.
std::string WayFor(std::string_view way, const std::string& path);

// The guesses use at most this many first bytes of a file.
inline constexpr size_t kLikenessBytes = 64 << 10;

// Nullopt if this may be UTF-8 text. `begin` holds the first kLikenessBytes of the file, or all of
// it; it may end within a character.
std::optional<Likeness> UnlikeText(std::string_view begin);

// Like the function above, for a piece from the middle or the end of a file whose beginning looks
// like text. It is less strict, because a long text may have a damaged place.
std::optional<Likeness> UnlikeTextInside(std::string_view piece);

// Whether this is text in UTF-8 or another superset of ASCII. `begin` as above.
bool LooksLikeText(std::string_view begin);

}  // namespace gp::formats
