#include "corpus/json_line.h"

#include <simdjson.h>

#include <optional>
#include <utility>

#include "base/excerpt.h"

namespace gp::corpus {
namespace {

namespace dom = simdjson::dom;

static_assert(JsonLineReader::kPaddingBytes >= simdjson::SIMDJSON_PADDING);

std::string_view TypeName(dom::element_type type) {
  switch (type) {
    case dom::element_type::ARRAY:
      return "a list";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::STRING:
      return "a string";
    case dom::element_type::BOOL:
      return "true or false";
    case dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

// The names in it, as many as help.
std::string Names(const dom::object& object) {
  std::string names;
  for (const dom::key_value_pair field : object) {
    if (names.size() < 100) names += (names.empty() ? "" : ", ") + Excerpt(field.key, 30);
  }
  return names.empty() ? "none" : names;
}

}  // namespace

struct JsonLineReader::Parser {
  dom::parser parser;
};

JsonLineReader::JsonLineReader(std::string field)
    : field_(std::move(field)), parser_(std::make_unique<Parser>()) {}

JsonLineReader::~JsonLineReader() = default;

StatusOr<std::string_view> JsonLineReader::Read(std::string_view line) {
  dom::element line_value;
  const auto error = parser_->parser.parse(line.data(), line.size(), false).get(line_value);
  if (error) return InvalidArgument("no JSON: {}", simdjson::error_message(error));
  dom::object object;
  if (line_value.get(object)) {
    return InvalidArgument("{}, expected an object", TypeName(line_value.type()));
  }
  std::optional<std::string_view> text;
  for (const dom::key_value_pair field : object) {
    if (field.key != field_) continue;
    if (text) return InvalidArgument("field '{}' is there twice", field_);
    if (!field.value.is_string()) {
      return InvalidArgument("field '{}' is {}, expected a string", field_,
                             TypeName(field.value.type()));
    }
    text = std::string_view(field.value);
  }
  if (text) return *text;
  return InvalidArgument("no field '{}'; the line has {}; name another one with --text-field",
                         field_, Names(object));
}

}  // namespace gp::corpus
