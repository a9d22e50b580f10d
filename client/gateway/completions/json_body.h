// Strict reading of a JSON body: every field by its name, type and range. A Read of an absent field
// leaves the value unchanged. error() is the first problem; later ones are dropped. Values; one
// thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "http/api_error.h"
#include "http/message.h"

namespace gp::gateway {

struct Range {
  double min;
  double max;
};

class JsonBody {
 public:
  using Json = nlohmann::json;

  // Larger bodies are refused before memory is allocated for them.
  static constexpr int64_t kDepthMax = 16;          // of nested lists and objects
  static constexpr int64_t kContainersMax = 4096;   // lists and objects: prompts and a few more
  static constexpr int64_t kMembersMax = 16 << 10;  // of all objects: biases and ignored fields
  static constexpr int64_t kStringsMax = 32 << 10;  // names of fields included
  // 128 prompts of 8192 ids, and the values of all fields.
  static constexpr int64_t kValuesMax = (1 << 20) + kMembersMax;
  static constexpr size_t kNameBytesMax = 1024;  // for the names of models and users
  static constexpr size_t kIgnoredMax = 32;      // ignored fields that are listed by name

  explicit JsonBody(std::string_view text);

  // The field, or null when it is absent or null. Marks it as known.
  const Json* Find(const std::string& name);

  void Read(const std::string& name, bool& value);
  void Read(const std::string& name, std::string& value);
  // At most kNameBytesMax bytes.
  void ReadName(const std::string& name, std::string& value);
  void Read(const std::string& name, double& value, Range range);
  void Read(const std::string& name, int64_t& value, Range range);

  void Fail(const std::string& param, const std::string& message);
  const std::optional<http::ApiError>& error() const { return error_; }

  // Notes that a member of a field is ignored: "stream_options.include_obfuscation".
  void Ignore(const std::string& name) { ignored_.insert(name); }
  // The fields that no Find or Read named, and those of Ignore, sorted, for a header: "a, b". After
  // kIgnoredMax names comes "and N more"; names are cut at 60 bytes and made printable ASCII.
  std::string Ignored() const;

 private:
  Json json_;
  std::set<std::string> known_;
  std::set<std::string> ignored_;  // members of fields
  std::optional<http::ApiError> error_;
};

// The header x-gp-ignored, which the answers to JSON bodies have; empty when nothing was ignored.
http::Headers IgnoredHeader(const std::string& ignored);

// A whole number: 3 and 3.0, but not 3.5 or true, nor a float beyond 2^53.
std::optional<int64_t> WholeNumber(const nlohmann::json& json);

}  // namespace gp::gateway
