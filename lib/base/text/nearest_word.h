// The word a person probably meant. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gp {

// Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and
// swaps of neighbours cost 1.
size_t EditDistance(std::string_view a, std::string_view b);

// The candidate closest to `word`, if its distance is at most a third of the longer one's length
// (but at least 1); the first of equals. If none is that close, the only one that begins with
// `word` and '-' or '_'. Case does not count. Nullopt for a word of more than 100 bytes.
std::optional<std::string> NearestWord(std::string_view word,
                                       const std::vector<std::string>& candidates);

}  // namespace gp
