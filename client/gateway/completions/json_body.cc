#include "client/gateway/completions/json_body.h"

#include <cmath>

namespace gp::gateway {
namespace {

// The nesting depth of a JSON text and the numbers of its parts. Brackets inside strings do not
// count.
struct Shape {
  int64_t depth = 0;
  int64_t containers = 0;
  int64_t members = 0;
  int64_t strings = 0;
  int64_t values = 1;
};

Shape ShapeOf(std::string_view text) {
  Shape shape;
  int64_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
      ++shape.strings;
    } else if (c == '[' || c == '{') {
      shape.depth = std::max(shape.depth, ++depth);
      ++shape.containers;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ':') {
      ++shape.members;
    } else if (c == ',') {
      ++shape.values;
    }
  }
  return shape;
}

// The limit that a text of this shape exceeds, as an error message; empty if it exceeds none.
std::string ProblemOf(const Shape& shape) {
  const auto more = [](int64_t count, const char* what, int64_t most) {
    return fmt::format("the body holds {} {}, at most {} are allowed", count, what, most);
  };
  if (shape.depth > JsonBody::kDepthMax) {
    return fmt::format("the body is nested deeper than {} levels", JsonBody::kDepthMax);
  }
  if (shape.containers > JsonBody::kContainersMax) {
    return more(shape.containers, "lists and objects", JsonBody::kContainersMax);
  }
  if (shape.members > JsonBody::kMembersMax) {
    return more(shape.members, "fields", JsonBody::kMembersMax);
  }
  if (shape.strings > JsonBody::kStringsMax) {
    return more(shape.strings, "strings", JsonBody::kStringsMax);
  }
  return shape.values > JsonBody::kValuesMax ? more(shape.values, "values", JsonBody::kValuesMax)
                                             : "";
}

// Parses invalid JSON to report where and why it fails.
class ProblemFinder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  // Keeps only REASON of the library's message "[…] parse error at line 1, column 9: syntax error
  // while parsing value - REASON; last read: '…'", in which other parts may be missing.
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::json::exception& exception) override {
    std::string_view reason = exception.what();
    reason = reason.substr(0, reason.find("; last read: "));
    for (const std::string_view before : {"] ", " at ", ": ", " - "}) {
      const size_t at = reason.find(before);
      if (at != std::string_view::npos) reason.remove_prefix(at + before.size());
    }
    constexpr size_t kReasonBytesMax = 200;  // the reason may quote a number of any length
    problem_ = fmt::format("at byte {}: {}", position, reason.substr(0, kReasonBytesMax));
    return false;
  }
  const std::string& problem() const { return problem_; }

 private:
  std::string problem_;
};

std::string WhyNotJson(std::string_view text) {
  ProblemFinder finder;
  nlohmann::json::sax_parse(text, &finder);
  return finder.problem();
}

// `name` as it may appear in a header: printable ASCII without commas; other bytes become '?'.
std::string NameInHeader(std::string_view name) {
  constexpr size_t kShownBytesMax = 60;
  std::string text;
  for (const char c : name.substr(0, kShownBytesMax)) {
    text += c > ' ' && c < 127 && c != ',' ? c : '?';
  }
  return name.size() > kShownBytesMax ? text + "..." : text;
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
  // The parser would treat a zero byte as the end of the text.
  if (const size_t at = text.find('\0'); at != std::string_view::npos) {
    Fail("", fmt::format("the body is not valid JSON: byte {} is 0", at + 1));
    return;
  }
  if (const std::string problem = ProblemOf(ShapeOf(text)); !problem.empty()) {
    Fail("", problem);
    return;
  }
  Json parsed = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) {
    Fail("", "the body is not valid JSON " + WhyNotJson(text));
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

void JsonBody::ReadName(const std::string& name, std::string& value) {
  Read(name, value);
  if (value.size() <= kNameBytesMax) return;
  Fail(name,
       fmt::format("{} has {} bytes, at most {} are allowed", name, value.size(), kNameBytesMax));
  value.clear();
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

std::string JsonBody::Ignored() const {
  std::set<std::string> ignored = ignored_;
  for (const auto& [name, value] : json_.items()) {
    if (!known_.contains(name)) ignored.insert(name);
  }
  std::vector<std::string> told;
  for (const std::string& name : ignored) {
    if (told.size() < kIgnoredMax) told.push_back(NameInHeader(name));
  }
  const size_t more = ignored.size() - told.size();
  return fmt::format("{}{}", fmt::join(told, ", "),
                     more > 0 ? fmt::format(", and {} more", more) : "");
}

http::Headers IgnoredHeader(const std::string& ignored) {
  if (ignored.empty()) return {};
  return {{"x-gp-ignored", ignored}};
}

}  // namespace gp::gateway
