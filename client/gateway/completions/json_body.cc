#include "client/gateway/completions/json_body.h"

#include <cmath>

namespace gp::gateway {
namespace {

// How deep brackets are nested; text between quotes does not count.
int DepthOf(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

std::string RangeText(const Range& range) {
  return fmt::format("from {:.15g} to {:.15g}", range.min, range.max);
}

}  // namespace

std::optional<int64_t> WholeNumber(const nlohmann::json& json) {
  constexpr double kExactMax = 9007199254740992.0;  // 2^53
  if (json.is_number_unsigned()) {
    const auto value = json.get<uint64_t>();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(value);
  }
  if (json.is_number_integer()) return json.get<int64_t>();
  if (!json.is_number_float()) return std::nullopt;
  const double value = json.get<double>();
  if (std::floor(value) != value || std::fabs(value) > kExactMax) return std::nullopt;
  return static_cast<int64_t>(value);
}

JsonBody::JsonBody(std::string_view text) : json_(Json::object()) {
  if (DepthOf(text) > kDepthMax) {
    Fail("", fmt::format("the body is nested deeper than {} levels", kDepthMax));
    return;
  }
  Json parsed = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) {
    Fail("", "the body is not valid JSON");
  } else if (!parsed.is_object()) {
    Fail("", "the body is not a JSON object");
  } else {
    json_ = std::move(parsed);
  }
}

const JsonBody::Json* JsonBody::Find(const std::string& name) {
  known_.insert(name);
  const auto found = json_.find(name);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

void JsonBody::Read(const std::string& name, bool& value) {
  const Json* found = Find(name);
  if (found == nullptr) return;
  if (!found->is_boolean()) return Fail(name, name + " is not true or false");
  value = found->get<bool>();
}

void JsonBody::Read(const std::string& name, std::string& value) {
  const Json* found = Find(name);
  if (found == nullptr) return;
  if (!found->is_string()) return Fail(name, name + " is not a string");
  value = found->get<std::string>();
}

void JsonBody::Read(const std::string& name, double& value, Range range) {
  const Json* found = Find(name);
  if (found == nullptr) return;
  const double number = found->is_number() ? found->get<double>() : NAN;
  if (!(number >= range.min && number <= range.max)) {
    return Fail(name, fmt::format("{} is not a number {}", name, RangeText(range)));
  }
  value = number;
}

void JsonBody::Read(const std::string& name, int64_t& value, Range range) {
  const Json* found = Find(name);
  if (found == nullptr) return;
  const auto number = WholeNumber(*found);
  if (!number || static_cast<double>(*number) < range.min ||
      static_cast<double>(*number) > range.max) {
    return Fail(name, fmt::format("{} is not a whole number {}", name, RangeText(range)));
  }
  value = *number;
}

void JsonBody::Fail(const std::string& param, const std::string& message) {
  if (error_) return;
  error_ = http::ApiError{.status = 400,
                          .message = message,
                          .param = param,
                          .code = param.empty() ? "invalid_json" : "invalid_value"};
}

std::vector<std::string> JsonBody::Unknown() const {
  std::vector<std::string> unknown;
  for (const auto& [name, value] : json_.items()) {
    if (!known_.contains(name)) unknown.push_back(name);
  }
  return unknown;
}

}  // namespace gp::gateway
