// CompletionRequest: the body of POST /v1/completions, checked field by field. Values and pure
// functions; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "http/api_error.h"

namespace gp::gateway {

// Text, or ids of the model's tokens.
using Prompt = std::variant<std::string, std::vector<int32_t>>;

struct CompletionRequest {
  std::string model;            // empty: the newest
  std::vector<Prompt> prompts;  // at least one; "" means CheckpointFacts::first_token
  int64_t max_tokens = 16;
  double temperature = 1;
  int64_t top_k = 50;  // 0 (or -1 in the body): all
  double top_p = 1;
  double min_p = 0;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::map<int32_t, double> logit_bias;
  int64_t n = 1;
  std::vector<std::string> stop;
  std::optional<uint64_t> seed;     // absent: Completion draws one
  std::optional<int64_t> logprobs;  // alternatives per token; absent: no logprobs
  bool echo = false;
  bool stream = false;
  bool include_usage = false;  // in a stream's last event; whole answers always have it
  bool ignore_eos = false;
  bool parse_special = false;  // encode a special token's spelling in a prompt as that token
  std::string ignored;         // unknown fields, as JsonBody::Ignored lists them

  int64_t texts() const { return n * static_cast<int64_t>(prompts.size()); }
  // Approximate memory of the request.
  size_t bytes() const;
};

inline constexpr int64_t kTextsMax = 128;  // n times prompts
inline constexpr int64_t kLogprobsMax = 20;
inline constexpr size_t kStopsMax = 32;
inline constexpr size_t kBiasesMax = 4096;

// A body that is not a JSON object, or exceeds the limits of JsonBody, is refused before any field
// is read. Any other error (400) names the first bad field.
std::variant<CompletionRequest, http::ApiError> ParseCompletionRequest(std::string_view body);

}  // namespace gp::gateway
