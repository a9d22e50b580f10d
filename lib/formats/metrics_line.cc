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

struct PhaseKey {
  const char* name;
  double MetricsPhases::*member;
};
constexpr PhaseKey kPhases[] = {{"data_wait", &MetricsPhases::data_wait},
                                {"forward", &MetricsPhases::forward},
                                {"backward", &MetricsPhases::backward},
                                {"allreduce_exposed", &MetricsPhases::allreduce_exposed},
                                {"optimizer", &MetricsPhases::optimizer},
                                {"other", &MetricsPhases::other}};

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

Json FormatPhases(const MetricsPhases& phases) {
  Json json;
  for (const PhaseKey& key : kPhases) json[key.name] = Number(phases.*key.member);
  return json;
}

StatusOr<MetricsPhases> ReadPhases(const Json& json) {
  MetricsPhases phases;
  for (const PhaseKey& key : kPhases) {
    ASSIGN_OR_RETURN(phases.*key.member, ReadNumber(json, key.name));
  }
  return phases;
}

// The names of questions' scores have a '/', which no other key has.
bool IsScore(const std::string& key) {
  return key == kBitsPerByte || key.find('/') != std::string::npos;
}

// What lines from before these keys lack.
Status ReadOptional(const Json& json, MetricsLine& line) {
  if (json.contains("val_loss")) {
    ASSIGN_OR_RETURN(line.validation_loss, ReadNumber(json, "val_loss"));
  }
  for (const auto& [key, value] : json.items()) {
    if (!IsScore(key)) continue;
    ASSIGN_OR_RETURN(line.scores[key], ReadNumber(json, key.c_str()));
  }
  if (const auto phases = json.find("phases"); phases != json.end() && phases->is_object()) {
    ASSIGN_OR_RETURN(line.phases, ReadPhases(*phases));
  }
  if (json.contains("peak_flops")) {
    ASSIGN_OR_RETURN(line.peak_flops, ReadNumber(json, "peak_flops"));
  }
  if (const auto source = json.find("peak_source"); source != json.end() && source->is_string()) {
    line.peak_source = source->get<std::string>();
  }
  return OkStatus();
}

}  // namespace

std::string FormatMetricsLine(const MetricsLine& line) {
  Json json = {{"step", line.step}, {"tokens", line.tokens}};
  for (const NumberKey& key : kNumbers) json[key.name] = Number(line.*key.member);
  if (line.validation_loss) json["val_loss"] = Number(*line.validation_loss);
  for (const auto& [name, value] : line.scores) json[name] = Number(value);
  if (line.skipped) json["skipped"] = true;
  if (line.phases) json["phases"] = FormatPhases(*line.phases);
  if (line.peak_flops > 0) {
    json["peak_flops"] = line.peak_flops;
    json["peak_source"] = line.peak_source;
  }
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
  RETURN_IF_ERROR(ReadOptional(json, line));
  const auto skipped = json.find("skipped");
  line.skipped = skipped != json.end() && skipped->is_boolean() && skipped->get<bool>();
  return line;
}

}  // namespace gp::formats
