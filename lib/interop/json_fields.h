// JsonFields: the values of a JSON object from outside, by key. The first that is missing or of the
// wrong type is remembered with the file's name; what follows then reads as its fallback. A view:
// the object must outlive it. One thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/status.h"

namespace gp::interop {

class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, std::string path)
      : object_(object), path_(std::move(path)) {}

  // Absent or null means the fallback, if there is one.
  int64_t Count(const std::string& key, std::optional<int64_t> fallback = std::nullopt);
  double Number(const std::string& key, double fallback);
  bool Flag(const std::string& key, bool fallback);
  std::string Text(const std::string& key, const std::string& fallback);

  // Unless there is a problem already.
  void Fail(const std::string& key, const std::string& what);
  const Status& status() const { return status_; }

 private:
  // nullptr when it is absent or null.
  const nlohmann::json* Find(const std::string& key) const;

  const nlohmann::json& object_;
  const std::string path_;
  Status status_;
};

}  // namespace gp::interop
