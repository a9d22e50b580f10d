// JsonObject: reads keys of a JSON object in a file that gp wrote, and remembers the first key that
// is missing or wrong (status()). After that every Read leaves its target unchanged, so callers
// check the status once, at the end. Belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>

#include "base/status.h"

namespace gp::formats {

class JsonObject {
 public:
  using Json = nlohmann::ordered_json;

  // Errors begin with `place` and end with `so`: "the checkpoint is damaged". `json` must outlive
  // this.
  JsonObject(const Json& json, std::string place, std::string so)
      : json_(json), place_(std::move(place)), so_(std::move(so)) {
    if (!json.is_object()) Fail("expected an object");
  }

  // Leaves `target` as it is when the value is of another type. Whole numbers are 0 to INT64_MAX.
  template <typename T>
  void Read(const char* key, T& target) {
    const Json* value = Value(key);
    if (value == nullptr) return;
    if constexpr (std::is_same_v<T, std::string>) {
      if (!value->is_string()) return Fail(fmt::format("'{}' is not a string", key));
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!value->is_boolean()) return Fail(fmt::format("'{}' is not true or false", key));
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!value->is_number()) return Fail(fmt::format("'{}' is not a number", key));
    } else {
      const bool whole =
          value->is_number_unsigned() && value->template get<uint64_t>() <= INT64_MAX;
      if (!whole) return Fail(fmt::format("'{}' is not a whole number", key));
    }
    target = value->template get<T>();
  }

  // For keys that older versions do not write: `target` keeps its value when the key is absent.
  template <typename T>
  void ReadIfPresent(const char* key, T& target) {
    if (Has(key)) Read(key, target);
  }
  bool Has(const char* key) const { return json_.contains(key); }

  // An empty list if the value is not a list.
  const Json& List(const char* key) {
    static const Json kNone = Json::array();
    const Json* value = Value(key);
    if (value == nullptr) return kNone;
    if (value->is_array()) return *value;
    Fail(fmt::format("'{}' is not a list", key));
    return kNone;
  }

  // Null when it is missing.
  const Json* Value(const char* key) {
    if (!status_.ok()) return nullptr;
    const auto found = json_.find(key);
    if (found != json_.end()) return &*found;
    Fail(fmt::format("'{}' is missing", key));
    return nullptr;
  }

  // The object under `key`; one without keys when it is missing.
  JsonObject Inner(const char* key) {
    static const Json kNone = Json::object();
    const Json* value = Value(key);
    return JsonObject(value == nullptr ? kNone : *value, fmt::format("{}: {}", place_, key), so_);
  }

  void Fail(const std::string& what) {
    if (status_.ok()) status_ = DataLoss("{}: {}; {}", place_, what, so_);
  }
  const Status& status() const { return status_; }

 private:
  const Json& json_;
  const std::string place_;
  const std::string so_;
  Status status_;
};

}  // namespace gp::formats
