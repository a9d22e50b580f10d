#include "formats/spelled_ends.h"

#include <algorithm>
#include <utility>

#include "formats/json_object.h"

namespace gp::formats {
namespace {

constexpr char kKey[] = "spelled_ends";

void Add(const std::string& text, int64_t count, SpelledEnds& ends) {
  const auto known = std::find_if(ends.begin(), ends.end(),
                                  [&](const SpelledEnd& end) { return end.text == text; });
  if (known == ends.end()) {
    ends.push_back({text, count});
  } else {
    known->count += count;
  }
}

}  // namespace

void CountSpelledEnds(std::string_view text, const std::string& end, SpelledEnds& ends) {
  int64_t count = 0;
  for (size_t at = text.find(end); at != std::string_view::npos;
       at = text.find(end, at + end.size())) {
    ++count;
  }
  if (count > 0) Add(end, count, ends);
}

void AddSpelledEnds(const SpelledEnds& more, SpelledEnds& ends) {
  for (const SpelledEnd& end : more) Add(end.text, end.count, ends);
}

void WriteSpelledEnds(const SpelledEnds& ends, JsonObject::Json& json) {
  for (const SpelledEnd& end : ends) {
    json[kKey].push_back({{"text", end.text}, {"count", end.count}});
  }
}

SpelledEnds ReadSpelledEnds(JsonObject& object) {
  SpelledEnds ends;
  if (!object.Has(kKey)) return ends;
  for (const JsonObject::Json& json : object.List(kKey)) {
    SpelledEnd end;
    JsonObject fields(json, fmt::format("{}[{}]", kKey, ends.size()), "it is damaged");
    fields.Read("text", end.text);
    fields.Read("count", end.count);
    if (!fields.status().ok()) object.Fail(Message(fields.status()));
    ends.push_back(std::move(end));
  }
  return ends;
}

}  // namespace gp::formats
