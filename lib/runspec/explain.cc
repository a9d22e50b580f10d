#include "runspec/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/nearest_word.h"
#include "runspec/preset.h"
#include "runspec/schema.h"

namespace gp::runspec {
namespace {

using Json = nlohmann::ordered_json;

std::string ExplainKey(const RunField& field) {
  RunSpec defaults;
  std::string text = ExplainField(field, field.slot(defaults));
  if (field.path == "preset") {
    for (const std::string& name : PresetNames()) {
      text += fmt::format("  {:<22}{}\n", name, PresetSummary(name));
    }
  }
  return text;
}

std::string ListFields(std::string_view prefix) {
  RunSpec defaults;
  std::string text;
  for (const RunField& field : Schema()) {
    if (!field.path.starts_with(prefix)) continue;
    text += ListField(field, field.slot(defaults));
  }
  return text;
}

// Whether `word` is the last word of the key, or its name in another tool.
bool Means(std::string_view word, const RunField& field) {
  if (field.path.substr(field.path.rfind('.') + 1) == word) return true;
  return std::find(field.also.begin(), field.also.end(), word) != field.also.end();
}

// The keys that a word such as "lr" means: the key itself if there is one, or a list.
std::string ExplainWord(std::string_view word) {
  std::vector<const RunField*> meant;
  for (const RunField& field : Schema()) {
    if (Means(word, field)) meant.push_back(&field);
  }
  if (meant.empty()) return "";
  if (meant.size() == 1) return fmt::format("{} means:\n{}", word, ExplainKey(*meant.front()));
  RunSpec defaults;
  std::string text = fmt::format("{} is the name of several keys:\n", word);
  for (const RunField* field : meant) text += ListField(*field, field->slot(defaults));
  return text;
}

// A list of the keys with `word` as a part of their names: schedule.warmup_steps for "warmup".
std::string KeysWith(std::string_view word) {
  constexpr size_t kShortest = 2;
  if (word.size() < kShortest || word.find('.') != std::string_view::npos) return "";
  RunSpec defaults;
  std::string text;
  for (const RunField& field : Schema()) {
    if (field.path.find(word) != std::string::npos) text += ListField(field, field.slot(defaults));
  }
  return text;
}

struct JsonType {
  const Field& field;
  Json Number(const char* type) const {
    Json json = {{"type", type}};
    if (std::isfinite(field.min))
      json[field.min_excluded ? "exclusiveMinimum" : "minimum"] = field.min;
    if (std::isfinite(field.max)) json["maximum"] = field.max;
    return json;
  }
  // Counts may also be written 10B or 2^19.
  Json Count() const {
    return {{"anyOf",
             Json::array({Number("integer"),
                          {{"type", "string"}, {"pattern", "^[0-9._]+([kKMBGT]|\\^[0-9]+)?$"}}})}};
  }
  Json Text() const {
    Json json = {{"type", "string"}};
    if (field.choices.empty()) return json;
    if (field.is_path) {
      json["anyOf"] = Json::array({{{"enum", field.choices}}, {{"pattern", "[/.]"}}});
    } else {
      json["enum"] = field.choices;
    }
    return json;
  }
  Json operator()(std::string*) const { return Text(); }
  Json operator()(EnumSlot) const { return Text(); }
  Json operator()(bool*) const { return {{"type", "boolean"}}; }
  Json operator()(std::optional<bool>*) const {
    return {{"anyOf", Json::array({{{"type", "boolean"}}, {{"const", "auto"}}})}};
  }
  Json operator()(int*) const { return Count(); }
  Json operator()(int64_t*) const { return Count(); }
  Json operator()(uint64_t*) const { return Count(); }
  Json operator()(double*) const { return Number("number"); }
  Json operator()(std::chrono::nanoseconds*) const {
    return {{"type", "string"}, {"pattern", "^([0-9.]+(ms|s|m|h|d))+$"}};
  }
  Json operator()(std::vector<std::string>*) const {
    return {{"anyOf", Json::array({{{"type", "string"}},
                                   {{"type", "array"}, {"items", {{"type", "string"}}}}})}};
  }
  Json operator()(std::vector<double>*) const {
    return {{"type", "array"}, {"items", Number("number")}};
  }
  Json operator()(std::map<std::string, std::string>*) const {
    return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
  }
  Json operator()(std::map<std::string, double>*) const {
    return {{"type", "object"}, {"additionalProperties", Number("number")}};
  }
  Json operator()(AutoCountSlot) const {
    Json json = Count();
    json["anyOf"].push_back({{"const", "auto"}});
    return json;
  }
};

Json FieldSchema(const RunField& field) {
  RunSpec defaults;
  Json json = std::visit([&](auto slot) { return JsonType{field}(slot); }, field.slot(defaults));
  json["description"] = field.doc;
  return json;
}

Json EmptyObject() {
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
}

}  // namespace

StatusOr<std::string> Explain(std::string_view path) {
  if (path.starts_with("run.")) path.remove_prefix(4);
  if (path.empty() || path == "run") {
    return "A run file. Keys, defaults and meanings:\n" + ListFields("");
  }
  if (const RunField* field = FindField(path)) return ExplainKey(*field);
  if (IsGroup(path)) {
    return fmt::format("{}\n  {}\n{}", path, GroupDoc(path), ListFields(std::string(path) + "."));
  }
  if (const std::string meant = ExplainWord(path); !meant.empty()) return meant;
  if (const std::string keys = KeysWith(path); !keys.empty()) {
    return NotFound("a run file has no key '{}'; these have the word in their names:\n{}", path,
                    keys);
  }
  const auto nearest = NearestWord(path, SchemaPaths());
  return NotFound("a run file has no key '{}'{}; list them with 'gpctl explain run'", path,
                  nearest ? fmt::format(" (did you mean '{}'?)", *nearest) : "");
}

std::string JsonSchema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"title", "gp run file"}};
  schema.update(EmptyObject());
  for (const RunField& field : Schema()) {
    Json* properties = &schema["properties"];
    const size_t dot = field.path.find('.');
    const std::string leaf = dot == std::string::npos ? field.path : field.path.substr(dot + 1);
    if (dot != std::string::npos) {
      const std::string group = field.path.substr(0, dot);
      if (!properties->contains(group)) {
        (*properties)[group] = EmptyObject();
        (*properties)[group]["description"] = GroupDoc(group);
      }
      properties = &(*properties)[group]["properties"];
    }
    (*properties)[leaf] = FieldSchema(field);
  }
  return schema.dump(2) + "\n";
}

std::vector<std::string> SchemaPaths() {
  std::vector<std::string> paths;
  for (const Field& field : Schema()) paths.push_back(field.path);
  return paths;
}

}  // namespace gp::runspec
