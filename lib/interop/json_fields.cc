#include "interop/json_fields.h"

#include "base/text/excerpt.h"

namespace gp::interop {

const nlohmann::json* JsonFields::Find(const std::string& key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void JsonFields::Fail(const std::string& key, const std::string& what) {
  if (status_.ok()) status_ = InvalidArgument("{}: '{}' {}", path_, key, what);
}

int64_t JsonFields::Count(const std::string& key, std::optional<int64_t> fallback) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr) {
    Fail(key, "is missing");
  } else if (!value->is_number_unsigned() || value->get<uint64_t>() > uint64_t{INT64_MAX}) {
    Fail(key, fmt::format("is {}, expected a whole number", Excerpt(value->dump())));
  } else {
    return value->get<int64_t>();
  }
  return 0;
}

double JsonFields::Number(const std::string& key, double fallback) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return fallback;
  if (value->is_number()) return value->get<double>();
  Fail(key, fmt::format("is {}, expected a number", Excerpt(value->dump())));
  return fallback;
}

bool JsonFields::Flag(const std::string& key, bool fallback) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  Fail(key, fmt::format("is {}, expected true or false", Excerpt(value->dump())));
  return fallback;
}

std::string JsonFields::Text(const std::string& key, const std::string& fallback) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  Fail(key, fmt::format("is {}, expected a string", Excerpt(value->dump())));
  return fallback;
}

}  // namespace gp::interop
