#include "formats/metrics_line.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace gp::formats {
namespace {

using contract::FieldInfo;
using contract::TrainingPoint;
using Json = nlohmann::ordered_json;
using Scores = std::map<std::string, double>;

bool HasKey(const FieldInfo& field) { return *field.key != '\0'; }

// JSON has no NaN and no infinity.
Json JsonOf(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json JsonOf(int64_t value) { return value; }
Json JsonOf(uint64_t value) { return value; }
Json JsonOf(bool value) { return value; }
Json JsonOf(const std::string& value) { return value; }
Json JsonOf(const std::optional<double>& value) { return value ? JsonOf(*value) : Json(nullptr); }
template <contract::Listed T>
Json JsonOf(const T& value) {
  Json json;
  contract::VisitFields(value, [&](const FieldInfo& field, const auto& member) {
    json[field.name] = JsonOf(member);
  });
  return json;
}

// Values of these types are left out while they have their default.
template <typename Value>
constexpr bool kOmitsDefault = std::is_same_v<Value, bool> || contract::Listed<Value> ||
                               std::is_same_v<Value, std::optional<double>>;

void PutScores(const Scores& scores, Json& json) {
  for (const auto& [name, value] : scores) {
    if (contract::IsScoreName(name)) json[name] = JsonOf(value);
  }
}

Status Wanted(const char* what, const char* key) {
  return InvalidArgument("a metrics line needs the {} '{}'", what, key);
}

Status Read(const Json& json, const char* key, double& value) {
  const auto found = json.find(key);
  if (found == json.end() || !(found->is_number() || found->is_null())) {
    return Wanted("number", key);
  }
  value = found->is_null() ? std::numeric_limits<double>::quiet_NaN() : found->get<double>();
  return OkStatus();
}

template <typename Integer>
requires std::is_same_v<Integer, int64_t> || std::is_same_v<Integer, uint64_t> Status
Read(const Json& json, const char* key, Integer& value) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_integer()) return Wanted("whole number", key);
  value = found->get<Integer>();
  return OkStatus();
}

Status Read(const Json& json, const char* key, bool& value) {
  const auto found = json.find(key);
  value = found != json.end() && found->is_boolean() && found->get<bool>();
  return OkStatus();
}

Status Read(const Json& json, const char* key, std::string& value) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_string()) value = found->get<std::string>();
  return OkStatus();
}

Status Read(const Json& json, const char* key, std::optional<double>& value) {
  return json.contains(key) ? Read(json, key, value.emplace()) : OkStatus();
}

template <contract::Listed T>
Status Read(const Json& json, const char* key, T& value) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) return OkStatus();
  Status status;
  contract::VisitFields(value, [&](const FieldInfo& field, auto& member) {
    if (status.ok()) status = Read(*found, field.name, member);
  });
  return status;
}

Status ReadScores(const Json& json, Scores& scores) {
  for (const auto& [key, value] : json.items()) {
    if (!contract::IsScoreName(key)) continue;
    RETURN_IF_ERROR(Read(json, key.c_str(), scores[key]));
  }
  return OkStatus();
}

}  // namespace

Json MetricsJson(const TrainingPoint& point, MetricsKeys keys) {
  Json json;
  contract::VisitFields(point, [&](const FieldInfo& field, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, Scores>) {
      PutScores(value, json);
    } else {
      const bool shown = HasKey(field) && (field.recorded || keys == MetricsKeys::kAll);
      const bool omits_default = field.omit_default || kOmitsDefault<Value>;
      if (shown && !(omits_default && value == Value{})) json[field.key] = JsonOf(value);
    }
  });
  return json;
}

std::string FormatMetricsLine(const TrainingPoint& point) {
  return MetricsJson(point, MetricsKeys::kRecorded)
      .dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

StatusOr<TrainingPoint> ParseMetricsLine(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InvalidArgument("a metrics line is a JSON object");
  TrainingPoint point;
  Status status = ReadScores(json, point.scores);
  contract::VisitFields(point, [&](const FieldInfo& field, auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (!std::is_same_v<Value, Scores>) {
      if (!status.ok() || !HasKey(field) || !field.recorded) return;
      if (field.omit_default && !json.contains(field.key)) return;
      status = Read(json, field.key, value);
    }
  });
  if (!status.ok()) return status;
  return point;
}

}  // namespace gp::formats
