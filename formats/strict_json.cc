#include "formats/strict_json.h"

#include <set>
#include <string>
#include <vector>

#include "base/excerpt.h"

namespace gp::formats {
namespace {

constexpr int kDepthMax = 16;

// Watches the parsing for what it would hide.
class JsonWatch {
 public:
  bool operator()(int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key && !keys_.back().insert(parsed.get<std::string>()).second) {
      twice_ = parsed.get<std::string>();
    }
    if (depth > kDepthMax) too_deep_ = true;
    return depth <= kDepthMax;
  }

  Status status() const {
    if (too_deep_) return InvalidArgument("lists and objects are nested too deeply");
    if (twice_) return InvalidArgument("the key '{}' is there twice", Excerpt(*twice_));
    return OkStatus();
  }

 private:
  std::vector<std::set<std::string>> keys_;
  std::optional<std::string> twice_;
  bool too_deep_ = false;
};

StatusOr<nlohmann::json> ParseDocument(std::string_view text) {
  JsonWatch watch;
  try {
    nlohmann::json object = nlohmann::json::parse(text, std::ref(watch));
    RETURN_IF_ERROR(watch.status());
    return object;
  } catch (const nlohmann::json::parse_error& error) {
    if (error.byte >= text.size()) {
      return InvalidArgument("offset {}: the file ends inside the JSON document: it is cut short",
                             text.size());
    }
    return InvalidArgument("offset {}: this is no JSON: {}", error.byte,
                           Excerpt(error.what(), 200));
  } catch (const nlohmann::json::exception& error) {
    return InvalidArgument("{}", Excerpt(error.what(), 200));
  }
}

}  // namespace

StatusOr<nlohmann::json> ParseJsonObject(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) {
    return InvalidArgument("offset 0: begins with a byte order mark; save the file without it");
  }
  ASSIGN_OR_RETURN(nlohmann::json object, ParseDocument(text));
  if (!object.is_object()) return InvalidArgument("expected a JSON object");
  return object;
}

const nlohmann::json& ValueOrNull(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

}  // namespace gp::formats
