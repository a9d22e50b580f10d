#include "formats/metrics_line.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace gp::formats {
namespace {

using Json = nlohmann::ordered_json;

struct NumberKey {
  const char* name;
  double MetricsLine::*member;
};
constexpr NumberKey kNumbers[] = {{"loss", &MetricsLine::loss},
                                  {"lr", &MetricsLine::learning_rate},
                                  {"grad_norm", &MetricsLine::gradient_norm},
                                  {"tokens_per_second", &MetricsLine::tokens_per_second},
                                  {"mfu", &MetricsLine::mfu},
                                  {"step_seconds", &MetricsLine::step_seconds}};

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

StatusOr<double> ReadNumber(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_number()) return found->get<double>();
  if (found != json.end() && found->is_null()) return std::numeric_limits<double>::quiet_NaN();
  return InvalidArgument("a metrics line needs the number '{}'", key);
}

StatusOr<int64_t> ReadCount(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found != json.end() && found->is_number_integer()) return found->get<int64_t>();
  return InvalidArgument("a metrics line needs the whole number '{}'", key);
}

}  // namespace

std::string FormatMetricsLine(const MetricsLine& line) {
  Json json = {{"step", line.step}, {"tokens", line.tokens}};
  for (const NumberKey& key : kNumbers) json[key.name] = Number(line.*key.member);
  if (line.validation_loss) json["val_loss"] = Number(*line.validation_loss);
  if (line.skipped) json["skipped"] = true;
  return json.dump();
}

StatusOr<MetricsLine> ParseMetricsLine(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InvalidArgument("a metrics line is a JSON object");
  MetricsLine line;
  ASSIGN_OR_RETURN(line.step, ReadCount(json, "step"));
  ASSIGN_OR_RETURN(line.tokens, ReadCount(json, "tokens"));
  for (const NumberKey& key : kNumbers) {
    ASSIGN_OR_RETURN(line.*key.member, ReadNumber(json, key.name));
  }
  if (json.contains("val_loss")) {
    ASSIGN_OR_RETURN(line.validation_loss, ReadNumber(json, "val_loss"));
  }
  const auto skipped = json.find("skipped");
  line.skipped = skipped != json.end() && skipped->is_boolean() && skipped->get<bool>();
  return line;
}

}  // namespace gp::formats
