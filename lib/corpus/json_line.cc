#include "corpus/json_line.h"

#include <simdjson.h>

#include <utility>

#include "base/text/excerpt.h"
#include "corpus/json_grammar.h"

namespace gp::corpus {
namespace {

namespace dom = simdjson::dom;
using dom::element_type;

static_assert(JsonLineReader::kPaddingBytes >= simdjson::SIMDJSON_PADDING);

std::string_view TypeName(element_type type) {
  switch (type) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "an object";
    case element_type::STRING:
      return "a string";
    case element_type::BOOL:
      return "true or false";
    case element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

// The names of its fields, about 100 bytes of them.
std::string Names(const dom::object& object) {
  std::string names;
  for (const dom::key_value_pair field : object) {
    if (names.size() < 100) names += (names.empty() ? "" : ", ") + Excerpt(field.key, 30);
  }
  return names.empty() ? "none" : names;
}

// Searches a line for a field: "a.b" is the field 'a.b', or 'b' in the object 'a'.
class FieldSearch {
 public:
  explicit FieldSearch(std::string_view path) : path_(path) {}

  // InvalidArgument when the path matches two places in the line.
  Status SearchIn(const dom::object& object) { return SearchIn(object, path_); }

  bool null() const { return null_; }
  const std::optional<dom::element>& found() const { return found_; }

 private:
  // `rest`: the remaining path within `object`.
  Status SearchIn(const dom::object& object, std::string_view rest) {
    for (const dom::key_value_pair field : object) {
      if (field.key == rest) {
        RETURN_IF_ERROR(Add(field.value));
      } else if (rest.starts_with(field.key) && rest.substr(field.key.size()).starts_with('.')) {
        dom::object inner;
        if (field.value.is_null()) {
          RETURN_IF_ERROR(Add(field.value));
        } else if (!field.value.get(inner)) {
          RETURN_IF_ERROR(SearchIn(inner, rest.substr(field.key.size() + 1)));
        }
      }
    }
    return OkStatus();
  }

  Status Add(const dom::element& value) {
    if (found_) return InvalidArgument("field '{}' occurs twice", path_);
    found_ = value;
    null_ = value.is_null();
    return OkStatus();
  }

  const std::string_view path_;
  std::optional<dom::element> found_;
  bool null_ = false;
};

// The first path in nested objects that holds `field` as a string: "meta.text". Empty: there is
// none.
std::string NestedPath(const dom::object& object, std::string_view field, int levels = 4) {
  for (const dom::key_value_pair member : object) {
    if (member.key == field && member.value.is_string()) return std::string(field);
  }
  if (levels == 0) return "";
  for (const dom::key_value_pair member : object) {
    dom::object inner;
    if (member.value.get(inner)) continue;
    const std::string path = NestedPath(inner, field, levels - 1);
    if (!path.empty()) return std::string(member.key) + "." + path;
  }
  return "";
}

Status NoField(const dom::object& object, std::string_view field, std::string_view field_key) {
  const std::string nested = NestedPath(object, field);
  const std::string way_out = nested.empty()
                                  ? "name another field"
                                  : fmt::format("but '{}' exists; name it", Excerpt(nested, 100));
  return InvalidArgument("no field '{}'; the line has {}; {} with {}", field, Names(object),
                         way_out, field_key);
}

// The error for a field that is not a string.
Status NoString(const dom::element& value, std::string_view field, std::string_view field_key) {
  dom::object object;
  if (value.get(object)) {
    return InvalidArgument("field '{}' is {}, expected a string", field, TypeName(value.type()));
  }
  const std::string names = Names(object);
  // pandas' to_json without lines: {"text": {"0": "…", "1": "…"}}.
  if (names == "0" || names.starts_with("0, ")) {
    return InvalidArgument(
        "field '{}' is an object with {}, expected a string; is the file a table of pandas? Write "
        "it with to_json(PATH, orient='records', lines=True)",
        field, names);
  }
  return InvalidArgument(
      "field '{}' is an object with {}, expected a string; name one of these with {} {}.NAME",
      field, names, field_key, field);
}

Status NoObject(const dom::element& value) {
  const std::string_view type = TypeName(value.type());
  if (value.is_array()) return InvalidArgument("{}, {}", type, kListToLines);
  if (value.is_string()) {
    return InvalidArgument("{}, expected an object; convert it with jq -c '{{text: .}}'", type);
  }
  return InvalidArgument("{}, expected an object", type);
}

}  // namespace

struct JsonLineReader::Parser {
  // Parses the line itself or, if simdjson refuses it, a copy in which numbers are replaced.
  StatusOr<dom::element> Parse(std::string_view line) {
    dom::element value;
    if (!parser.parse(line.data(), line.size(), false).get(value)) return value;
    ASSIGN_OR_RETURN(without_numbers, WithoutNumbers(line));
    const auto error = parser.parse(without_numbers).get(value);
    if (error) return InvalidArgument("{}", simdjson::error_message(error));
    return value;
  }

  dom::parser parser;
  std::string without_numbers;
};

JsonLineReader::JsonLineReader(std::string field, std::string field_key)
    : field_(std::move(field)),
      field_key_(std::move(field_key)),
      parser_(std::make_unique<Parser>()) {}

JsonLineReader::~JsonLineReader() = default;

StatusOr<std::optional<std::string_view>> JsonLineReader::Read(std::string_view line) {
  const auto value = parser_->Parse(line);
  if (!value.ok()) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin != std::string_view::npos && line[begin] == '[') {
      return InvalidArgument("a list, {}", kListToLines);
    }
    return InvalidArgument("not JSON: {}", Message(value.status()));
  }
  dom::object object;
  if (value->get(object)) return NoObject(*value);
  FieldSearch search(field_);
  RETURN_IF_ERROR(search.SearchIn(object));
  if (!search.found()) return NoField(object, field_, field_key_);
  if (search.null()) return std::optional<std::string_view>();
  std::string_view text;
  if (search.found()->get(text)) return NoString(*search.found(), field_, field_key_);
  return std::optional<std::string_view>(text);
}

}  // namespace gp::corpus
