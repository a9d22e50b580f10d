#include "corpus/preparation_state.h"

#include <algorithm>

#include "base/text/excerpt.h"
#include "formats/json_object.h"

namespace gp::corpus {
namespace {

using formats::JsonObject;
using Json = JsonObject::Json;

constexpr int64_t kStateVersion = 1;

// Reads the keys of an object at `place` of the state's file.
JsonObject Fields(const Json& json, const std::string& place) {
  return JsonObject(json, place, "remove the folder and prepare the data again");
}

void AddShards(const PreparationState& state, Json& shards) {
  for (const formats::DatasetShard& shard : state.finished) {
    shards["finished"].push_back({{"name", shard.name},
                                  {"split", shard.split},
                                  {"tokens", shard.tokens},
                                  {"xxh3_128", shard.xxh3}});
  }
  for (const OpenShard& shard : state.open) {
    shards["open"].push_back(
        {{"name", shard.name}, {"split", shard.split}, {"tokens", shard.tokens}});
  }
}

// Reads each entry of the list `key` with `read` and appends it to `list`. A problem of an entry
// becomes the status of `object`.
template <typename T>
void ReadList(JsonObject& object, const char* key, std::vector<T>& list,
              void (*read)(JsonObject& fields, T& entry)) {
  for (const Json& json : object.List(key)) {
    T entry;
    JsonObject fields = Fields(json, key);
    read(fields, entry);
    if (!fields.status().ok()) object.Fail(Message(fields.status()));
    list.push_back(std::move(entry));
  }
}

void ReadChoice(JsonObject& fields, PreparationChoice& choice) {
  fields.Read("name", choice.name);
  fields.Read("value", choice.value);
}

void ReadFinished(JsonObject& fields, formats::DatasetShard& shard) {
  fields.Read("name", shard.name);
  fields.Read("split", shard.split);
  fields.Read("tokens", shard.tokens);
  fields.Read("xxh3_128", shard.xxh3);
}

void ReadOpen(JsonObject& fields, OpenShard& shard) {
  fields.Read("name", shard.name);
  fields.Read("split", shard.split);
  fields.Read("tokens", shard.tokens);
}

void ReadPosition(JsonObject fields, CorpusPosition& position, JsonObject& object) {
  position = ReadCorpusPosition(fields);
  if (!fields.status().ok()) object.Fail(Message(fields.status()));
}

}  // namespace

std::string FormatPreparationState(const PreparationState& state) {
  Json choices = Json::array();
  for (const PreparationChoice& choice : state.choices) {
    choices.push_back({{"name", choice.name}, {"value", choice.value}});
  }
  Json json = {{"version", kStateVersion},
               {"choices", std::move(choices)},
               {"position", CorpusPositionJson(state.position)},
               {"finished", Json::array()},
               {"open", Json::array()},
               {"documents", state.documents},
               {"empty_documents", state.empty_documents},
               {"null_lines", state.null_lines},
               {"text_bytes", state.text_bytes}};
  AddShards(state, json);
  formats::WriteSpelledEnds(state.spelled_ends, json);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

StatusOr<PreparationState> ParsePreparationState(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  JsonObject object = Fields(json, kPreparationFileName);
  PreparationState state;
  int64_t version = 0;
  object.Read("version", version);
  if (version != kStateVersion) object.Fail(fmt::format("version {} is unknown", version));
  ReadList(object, "choices", state.choices, &ReadChoice);
  ReadPosition(object.Inner("position"), state.position, object);
  ReadList(object, "finished", state.finished, &ReadFinished);
  ReadList(object, "open", state.open, &ReadOpen);
  object.Read("documents", state.documents);
  object.Read("empty_documents", state.empty_documents);
  object.ReadIfPresent("null_lines", state.null_lines);
  object.Read("text_bytes", state.text_bytes);
  state.spelled_ends = formats::ReadSpelledEnds(object);
  RETURN_IF_ERROR(object.status());
  return state;
}

Status CheckSamePreparation(const std::vector<PreparationChoice>& begun,
                            const std::vector<PreparationChoice>& asked) {
  for (const PreparationChoice& choice : asked) {
    const auto same = [&](const PreparationChoice& other) { return other.name == choice.name; };
    const auto found = std::find_if(begun.begin(), begun.end(), same);
    const std::string before = found == begun.end() ? "nothing" : found->value;
    if (before == choice.value) continue;
    return FailedPrecondition(
        "the preparation there was started with another {}: {}, now {}; use another folder, or "
        "remove this one and start again",
        choice.name, Excerpt(before, 200), Excerpt(choice.value, 200));
  }
  return OkStatus();
}

}  // namespace gp::corpus
