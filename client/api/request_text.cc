#include "client/api/request_text.h"

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "base/text/excerpt.h"
#include "base/text/utf8.h"

namespace gp::client {
namespace {

using TextField = google::protobuf::FieldDescriptor;
using AnyMessage = google::protobuf::Message;

Status CheckText(const std::string& text, const std::string& field) {
  if (IsUtf8(text)) return OkStatus();
  return InvalidArgument("{} is not UTF-8: '{}'", field, Excerpt(text));
}

Status CheckField(const AnyMessage& message, const TextField& field) {
  const auto& reflection = *message.GetReflection();
  const bool is_text = field.type() == TextField::TYPE_STRING;
  if (!field.is_repeated()) {
    if (is_text) return CheckText(reflection.GetString(message, &field), field.name());
    return CheckTexts(reflection.GetMessage(message, &field));
  }
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    RETURN_IF_ERROR(is_text
                        ? CheckText(reflection.GetRepeatedString(message, &field, i), field.name())
                        : WithContext(CheckTexts(reflection.GetRepeatedMessage(message, &field, i)),
                                      field.name()));
  }
  return OkStatus();
}

}  // namespace

Status CheckTexts(const google::protobuf::Message& request) {
  std::vector<const TextField*> fields;
  request.GetReflection()->ListFields(request, &fields);
  for (const TextField* field : fields) {
    const bool has_text =
        field->type() == TextField::TYPE_STRING || field->cpp_type() == TextField::CPPTYPE_MESSAGE;
    if (has_text) RETURN_IF_ERROR(CheckField(request, *field));
  }
  return OkStatus();
}

}  // namespace gp::client
