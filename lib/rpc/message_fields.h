// Copies a value that has a list of fields (contract/field.h) to and from a protobuf message whose
// fields have the same names. Thread-safe.
//
// A field that the message lacks is skipped, with these exceptions: "x_us" is found as the
// Timestamp "x", and the fields of a nested struct that has no field of its own are found in the
// message itself as "<name>_seconds". A map of numbers by name is a repeated message with the
// fields `name` and `value`.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "contract/field.h"

namespace gp::rpc {

// At most this many entries of a map are read.
inline constexpr int kNumbersMax = 1024;

// Connects one field of a value to the message. BindFields returns bindings in the order of the
// value's list of fields. `field` is null if the message has no such field.
struct FieldBinding {
  const google::protobuf::FieldDescriptor* field = nullptr;
  std::vector<FieldBinding> nested;
};

const google::protobuf::FieldDescriptor* FindField(const google::protobuf::Descriptor& message,
                                                   const std::string& name);

// Sets or gets one value. The field must have the value's type; a debug build of protobuf checks
// it.
using Numbers = std::map<std::string, double>;
void SetField(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
              int32_t value);
void SetField(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
              int64_t value);
void SetField(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
              uint64_t value);
void SetField(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
              double value);
void SetField(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
              bool value);
void SetField(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
              const std::string& value);
void SetField(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
              const Numbers& value);
void GetField(const google::protobuf::Message& message,
              const google::protobuf::FieldDescriptor& field, int32_t& value);
void GetField(const google::protobuf::Message& message,
              const google::protobuf::FieldDescriptor& field, int64_t& value);
void GetField(const google::protobuf::Message& message,
              const google::protobuf::FieldDescriptor& field, uint64_t& value);
void GetField(const google::protobuf::Message& message,
              const google::protobuf::FieldDescriptor& field, double& value);
void GetField(const google::protobuf::Message& message,
              const google::protobuf::FieldDescriptor& field, bool& value);
void GetField(const google::protobuf::Message& message,
              const google::protobuf::FieldDescriptor& field, std::string& value);
void GetField(const google::protobuf::Message& message,
              const google::protobuf::FieldDescriptor& field, Numbers& value);
bool HasField(const google::protobuf::Message& message,
              const google::protobuf::FieldDescriptor& field);
// The nested message of `field`. REQUIRES: the field holds a message.
google::protobuf::Message& MutableNested(google::protobuf::Message& message,
                                         const google::protobuf::FieldDescriptor& field);
const google::protobuf::Message& Nested(const google::protobuf::Message& message,
                                        const google::protobuf::FieldDescriptor& field);

template <contract::Listed T>
std::vector<FieldBinding> BindFields(const google::protobuf::Descriptor& message,
                                     const std::string& suffix = "") {
  std::vector<FieldBinding> bindings;
  T value;
  contract::VisitFields(value, [&](const contract::FieldInfo& field, auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    FieldBinding& binding = bindings.emplace_back(
        FieldBinding{.field = FindField(message, field.name + suffix), .nested = {}});
    if constexpr (contract::Listed<Member>) {
      binding.nested = binding.field != nullptr ? BindFields<Member>(*binding.field->message_type())
                                                : BindFields<Member>(message, "_seconds");
    }
  });
  return bindings;
}

template <contract::Listed T>
void WriteBound(const T& value, const std::vector<FieldBinding>& bindings,
                google::protobuf::Message& message) {
  size_t index = 0;
  contract::VisitFields(value, [&](const contract::FieldInfo&, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    const FieldBinding& binding = bindings[index++];
    if constexpr (contract::Listed<Member>) {
      WriteBound(member, binding.nested,
                 binding.field != nullptr ? MutableNested(message, *binding.field) : message);
    } else if constexpr (std::is_same_v<Member, std::optional<double>>) {
      if (member && binding.field != nullptr) SetField(message, *binding.field, *member);
    } else {
      if (binding.field != nullptr) SetField(message, *binding.field, member);
    }
  });
}

template <contract::Listed T>
void ReadBound(const google::protobuf::Message& message, const std::vector<FieldBinding>& bindings,
               T& value) {
  size_t index = 0;
  contract::VisitFields(value, [&](const contract::FieldInfo&, auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    const FieldBinding& binding = bindings[index++];
    if constexpr (contract::Listed<Member>) {
      ReadBound(binding.field != nullptr ? Nested(message, *binding.field) : message,
                binding.nested, member);
    } else if constexpr (std::is_same_v<Member, std::optional<double>>) {
      if (binding.field == nullptr || !HasField(message, *binding.field)) return;
      GetField(message, *binding.field, member.emplace());
    } else {
      if (binding.field != nullptr) GetField(message, *binding.field, member);
    }
  });
}

// Sets the fields that the value has; leaves the others as they are.
template <contract::Listed T, typename Message>
void WriteFields(const T& value, Message& message) {
  static const std::vector<FieldBinding> kBindings = BindFields<T>(*Message::descriptor());
  WriteBound(value, kBindings, message);
}

// Fields of the value that the message lacks keep their defaults.
template <contract::Listed T, typename Message>
T ReadFields(const Message& message) {
  static const std::vector<FieldBinding> kBindings = BindFields<T>(*Message::descriptor());
  T value;
  ReadBound(message, kBindings, value);
  return value;
}

}  // namespace gp::rpc
