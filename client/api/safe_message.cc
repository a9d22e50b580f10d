#include "client/api/safe_message.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/safe_text.h"
#include "base/text/utf8.h"

namespace gp::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char32_t kReplacement = 0xFFFD;
constexpr std::array<std::string_view, 13> kOneLine = {
    "name",        "run_id", "node_id", "node_name", "slot_id",    "namespace", "device",
    "device_name", "kind",   "actor",   "version",   "gpu_driver", "key"};

bool IsClean(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char byte) { return byte >= 0x20 && byte < 0x7F; });
}

std::string Cleaned(std::string_view text, bool one_line) {
  std::string cleaned;
  while (!text.empty()) {
    const auto code_point = TakeCodePoint(text);
    if (!code_point) text.remove_prefix(1);
    const bool layout = code_point == U'\n' || code_point == U'\t';
    if (layout && !one_line) {
      cleaned += static_cast<char>(*code_point);
    } else if (!code_point || IsUnsafeToShow(*code_point)) {
      AppendCodePoint(kReplacement, cleaned);
    } else {
      AppendCodePoint(*code_point, cleaned);
    }
  }
  return cleaned;
}

void CleanText(Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  const bool one_line = std::find(kOneLine.begin(), kOneLine.end(), field.name()) != kOneLine.end();
  if (!field.is_repeated()) {
    const std::string text = reflection.GetString(message, &field);
    if (!IsClean(text)) reflection.SetString(&message, &field, Cleaned(text, one_line));
    return;
  }
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    const std::string text = reflection.GetRepeatedString(message, &field, i);
    if (!IsClean(text)) reflection.SetRepeatedString(&message, &field, i, Cleaned(text, one_line));
  }
}

void CleanInner(Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  if (!field.is_repeated()) return MakeSafeToShow(*reflection.MutableMessage(&message, &field));
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    MakeSafeToShow(*reflection.MutableRepeatedMessage(&message, &field, i));
  }
}

}  // namespace

void MakeSafeToShow(Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) CleanText(message, *field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) CleanInner(message, *field);
  }
}

}  // namespace gp::client
