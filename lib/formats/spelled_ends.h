// SpelledEnds: how often a text spells strings that separate documents elsewhere, such as
// <|endoftext|>, and are ordinary text where they are counted. Values and pure functions; any
// thread may call. In files: docs/formats/dataset.md.
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
// Those that occur.
using SpelledEnds = std::vector<SpelledEnd>;

// Adds to `ends` how often `text` has the string `end`, if at all.
void CountSpelledEnds(std::string_view text, const std::string& end, SpelledEnds& ends);
void AddSpelledEnds(const SpelledEnds& more, SpelledEnds& ends);

// The key spelled_ends of one of our JSON files, left out when empty.
void WriteSpelledEnds(const SpelledEnds& ends, nlohmann::ordered_json& json);
SpelledEnds ReadSpelledEnds(JsonObject& object);

}  // namespace gp::formats
