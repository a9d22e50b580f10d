#include "rpc/message_fields.h"

#include <algorithm>

#include "rpc/timestamp.h"

namespace gp::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::string_view kMicroseconds = "_us";

bool HoldsTimestamp(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
         field.message_type() == google::protobuf::Timestamp::descriptor();
}

const Reflection& Of(const Message& message) { return *message.GetReflection(); }

}  // namespace

const FieldDescriptor* FindField(const Descriptor& message, const std::string& name) {
  const FieldDescriptor* field = message.FindFieldByName(name);
  if (field != nullptr || !name.ends_with(kMicroseconds)) return field;
  field = message.FindFieldByName(name.substr(0, name.size() - kMicroseconds.size()));
  return field != nullptr && HoldsTimestamp(*field) ? field : nullptr;
}

void SetField(Message& message, const FieldDescriptor& field, int32_t value) {
  Of(message).SetInt32(&message, &field, value);
}

void SetField(Message& message, const FieldDescriptor& field, int64_t value) {
  if (HoldsTimestamp(field)) {
    Of(message).MutableMessage(&message, &field)->CopyFrom(ToTimestamp(value));
  } else {
    Of(message).SetInt64(&message, &field, value);
  }
}

void SetField(Message& message, const FieldDescriptor& field, uint64_t value) {
  Of(message).SetUInt64(&message, &field, value);
}

void SetField(Message& message, const FieldDescriptor& field, double value) {
  Of(message).SetDouble(&message, &field, value);
}

void SetField(Message& message, const FieldDescriptor& field, bool value) {
  Of(message).SetBool(&message, &field, value);
}

void SetField(Message& message, const FieldDescriptor& field, const std::string& value) {
  Of(message).SetString(&message, &field, value);
}

void SetField(Message& message, const FieldDescriptor& field, const Numbers& value) {
  const Descriptor& entry = *field.message_type();
  for (const auto& [name, number] : value) {
    Message& added = *Of(message).AddMessage(&message, &field);
    SetField(added, *entry.FindFieldByName("name"), name);
    SetField(added, *entry.FindFieldByName("value"), number);
  }
}

void GetField(const Message& message, const FieldDescriptor& field, int32_t& value) {
  value = Of(message).GetInt32(message, &field);
}

void GetField(const Message& message, const FieldDescriptor& field, int64_t& value) {
  if (HoldsTimestamp(field)) {
    google::protobuf::Timestamp time;
    time.CopyFrom(Of(message).GetMessage(message, &field));
    value = MicrosecondsOf(time);
  } else {
    value = Of(message).GetInt64(message, &field);
  }
}

void GetField(const Message& message, const FieldDescriptor& field, uint64_t& value) {
  value = Of(message).GetUInt64(message, &field);
}

void GetField(const Message& message, const FieldDescriptor& field, double& value) {
  value = Of(message).GetDouble(message, &field);
}

void GetField(const Message& message, const FieldDescriptor& field, bool& value) {
  value = Of(message).GetBool(message, &field);
}

void GetField(const Message& message, const FieldDescriptor& field, std::string& value) {
  value = Of(message).GetString(message, &field);
}

void GetField(const Message& message, const FieldDescriptor& field, Numbers& value) {
  const Descriptor& entry = *field.message_type();
  const int count = std::min(Of(message).FieldSize(message, &field), kNumbersMax);
  for (int i = 0; i < count; ++i) {
    const Message& added = Of(message).GetRepeatedMessage(message, &field, i);
    std::string name;
    GetField(added, *entry.FindFieldByName("name"), name);
    GetField(added, *entry.FindFieldByName("value"), value[name]);
  }
}

bool HasField(const Message& message, const FieldDescriptor& field) {
  return !field.has_presence() || Of(message).HasField(message, &field);
}

Message& MutableNested(Message& message, const FieldDescriptor& field) {
  return *Of(message).MutableMessage(&message, &field);
}

const Message& Nested(const Message& message, const FieldDescriptor& field) {
  return Of(message).GetMessage(message, &field);
}

}  // namespace gp::rpc
