#include "proto/every_field.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/reflection.h>
#include <google/protobuf/timestamp.pb.h>

#include <set>
#include <stdexcept>

namespace gp::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class Filler {
 public:
  void Fill(Message& message) {
    if (auto* time = dynamic_cast<google::protobuf::Timestamp*>(&message)) return Fill(*time);
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      Fill(message, message.GetDescriptor()->field(i));
    }
  }

 private:
  void Fill(google::protobuf::Timestamp& time) {
    time.set_seconds(Next());
    time.set_nanos(static_cast<int32_t>(Next()) * 1000);
  }

  void Fill(Message& message, const FieldDescriptor* field) {
    const Reflection* reflection = message.GetReflection();
    if (field->is_repeated()) {
      for (int i = 0; i < 2; ++i) Add(message, field);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Fill(*reflection->MutableMessage(&message, field));
    } else {
      Set(message, field);
    }
  }

  void Set(Message& message, const FieldDescriptor* field) {
    const Reflection* to = message.GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return to->SetInt32(&message, field, static_cast<int32_t>(Next()));
      case FieldDescriptor::CPPTYPE_INT64:
        return to->SetInt64(&message, field, Next());
      case FieldDescriptor::CPPTYPE_UINT32:
        return to->SetUInt32(&message, field, static_cast<uint32_t>(Next()));
      case FieldDescriptor::CPPTYPE_UINT64:
        return to->SetUInt64(&message, field, static_cast<uint64_t>(Next()));
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return to->SetDouble(&message, field, static_cast<double>(Next()) + 0.5);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return to->SetFloat(&message, field, static_cast<float>(Next()) + 0.5f);
      case FieldDescriptor::CPPTYPE_BOOL:
        return to->SetBool(&message, field, true);
      case FieldDescriptor::CPPTYPE_ENUM:
        return to->SetEnumValue(&message, field, NextOf(*field->enum_type()));
      case FieldDescriptor::CPPTYPE_STRING:
        return to->SetString(&message, field, Text(*field));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return;  // the caller fills nested messages
    }
  }

  void Add(Message& message, const FieldDescriptor* field) {
    const Reflection* to = message.GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:  // includes map entries
        return Fill(*to->AddMessage(&message, field));
      case FieldDescriptor::CPPTYPE_INT32:
        return to->AddInt32(&message, field, static_cast<int32_t>(Next()));
      case FieldDescriptor::CPPTYPE_INT64:
        return to->AddInt64(&message, field, Next());
      case FieldDescriptor::CPPTYPE_STRING:
        return to->AddString(&message, field, Text(*field));
      default:
        throw std::logic_error(field->full_name() + " repeats a type that is not filled yet");
    }
  }

  int64_t Next() { return ++last_; }
  int NextOf(const google::protobuf::EnumDescriptor& type) {
    return type.value(1 + static_cast<int>(Next() % (type.value_count() - 1)))->number();
  }
  std::string Text(const FieldDescriptor& field) {
    return std::string(field.name()) + "-" + std::to_string(Next());
  }

  int64_t last_ = 0;
};

void AddUnset(const Message& message, const std::string& prefix, std::vector<std::string>& unset) {
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> listed;
  reflection->ListFields(message, &listed);
  const std::set<const FieldDescriptor*> set(listed.begin(), listed.end());
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    const std::string path = prefix + std::string(field->name());
    if (!set.contains(field)) {
      unset.push_back(path);
    } else if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) {
      continue;
    } else if (!field->is_repeated()) {
      AddUnset(reflection->GetMessage(message, field), path + ".", unset);
    } else {
      for (int k = 0; k < reflection->FieldSize(message, field); ++k) {
        AddUnset(reflection->GetRepeatedMessage(message, field, k), path + ".", unset);
      }
    }
  }
}

}  // namespace

void SetEveryField(Message& message) { Filler().Fill(message); }

std::vector<std::string> UnsetFields(const Message& message) {
  std::vector<std::string> unset;
  AddUnset(message, "", unset);
  return unset;
}

}  // namespace gp::testing
