// Makes text from outside fit for a message: short, valid UTF-8, without control characters. Pure
// functions; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gp {

// The first `characters_max` characters of `text`, then "…" if there are more. Control characters
// (except tabs), line and paragraph separators, and bytes that are not valid UTF-8 become '?'.
std::string Excerpt(std::string_view text, size_t characters_max = 60);

struct LineExcerpt {
  std::string text;  // at most kLineCharactersMax characters of the line and a "…" at a cut end
  size_t index = 0;  // where in `text` the part that matters begins, in characters
};

inline constexpr size_t kLineCharactersMax = 120;

// The part of `line` around byte `offset`. Its cost does not depend on the line's length.
LineExcerpt ExcerptAround(std::string_view line, size_t offset);

// Characters in `text`, which may begin or end inside one.
size_t CountCharacters(std::string_view text);

}  // namespace gp
