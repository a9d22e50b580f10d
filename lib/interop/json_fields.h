// JsonFields: the values of a JSON object that another program wrote, by key. A value that is
// missing or of the wrong type reads as its fallback (0 without one); status() keeps the first such
// problem with the file's name, so callers check it once, at the end. A view: the object must
// outlive it. Used by one thread.
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

  // The fallback, if there is one, stands for an absent or null value.
  int64_t Count(const std::string& key, std::optional<int64_t> fallback = std::nullopt);
  double Number(const std::string& key, double fallback);
  bool Flag(const std::string& key, bool fallback);
  std::string Text(const std::string& key, const std::string& fallback);

  // Records a problem, unless there is one already.
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
