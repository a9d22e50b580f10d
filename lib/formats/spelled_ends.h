// SpelledEnds: counts the strings in a text that often separate documents, such as <|endoftext|>,
// but are encoded as ordinary text here. Values and pure functions; any thread may call. In files:
// docs/formats/dataset.md.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace gp::formats {

class JsonObject;

struct SpelledEnd {
  std::string text;  // "<|endoftext|>"
  int64_t count = 0;
  bool operator==(const SpelledEnd&) const = default;
};
// Contains only strings that occur.
using SpelledEnds = std::vector<SpelledEnd>;

// Adds the number of occurrences of `end` in `text` to `ends`.
void CountSpelledEnds(std::string_view text, const std::string& end, SpelledEnds& ends);
void AddSpelledEnds(const SpelledEnds& more, SpelledEnds& ends);

// Write and read the key spelled_ends of one of gp's JSON files; it is left out when empty.
void WriteSpelledEnds(const SpelledEnds& ends, nlohmann::ordered_json& json);
SpelledEnds ReadSpelledEnds(JsonObject& object);

}  // namespace gp::formats
