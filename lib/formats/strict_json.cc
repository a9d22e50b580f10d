#include "formats/strict_json.h"

#include <set>
#include <string>
#include <vector>

#include "base/text/excerpt.h"
#include "base/text/utf8.h"
#include "formats/file_kind.h"

namespace gp::formats {
namespace {

constexpr int kDepthMax = 16;

// A callback of the parser that finds duplicate keys and deep nesting, which nlohmann::json accepts
// without an error.
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
    if (twice_) return InvalidArgument("the key '{}' occurs twice", Excerpt(*twice_));
    return OkStatus();
  }

 private:
  std::vector<std::set<std::string>> keys_;
  std::optional<std::string> twice_;
  bool too_deep_ = false;
};

// The parser's message without the name of the error and the place, which it counts in lines.
std::string_view ReasonOf(const nlohmann::json::parse_error& error) {
  const std::string_view words = error.what();
  const size_t place = words.find(": ");
  return place == std::string_view::npos ? words : words.substr(place + 2);
}

Status NoJson(std::string_view text, const nlohmann::json::parse_error& error) {
  // A character cut off at the end does not indicate another encoding.
  const size_t offset = WholeUtf8Bytes(text);
  if (offset + UnfinishedBytes(text) < text.size()) {
    return InvalidArgument(
        "offset {}: this is not JSON: the byte 0x{:02x} is not valid UTF-8; convert the "
        "file from its encoding: iconv -f ENCODING -t UTF-8 FILE",
        offset, static_cast<unsigned char>(text[offset]));
  }
  if (error.byte >= text.size()) {
    return InvalidArgument("offset {}: the file ends inside the JSON document: it is cut short",
                           text.size());
  }
  return InvalidArgument("offset {}: this is not JSON: {}", error.byte,
                         Excerpt(std::string(ReasonOf(error)), 200));
}

StatusOr<nlohmann::json> ParseDocument(std::string_view text) {
  JsonWatch watch;
  try {
    nlohmann::json object = nlohmann::json::parse(text, std::ref(watch));
    RETURN_IF_ERROR(watch.status());
    return object;
  } catch (const nlohmann::json::parse_error& error) {
    return NoJson(text, error);
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

StatusOr<nlohmann::json> ParseJsonFile(std::string_view text, const std::string& path) {
  RETURN_IF_ERROR(RefuseOtherText(path, text, "a JSON object"));
  auto object = ParseJsonObject(text);
  if (!object.ok()) return WithContext(object.status(), path);
  return object;
}

const nlohmann::json& ValueOrNull(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

}  // namespace gp::formats
