// PreparedPrompts: the prompts of a request as tokens of its model, checked against its context and
// vocabulary. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "client/gateway/completions/completion_request.h"
#include "client/gateway/models/checkpoint_facts.h"

namespace gp::gateway {

struct PreparedPrompts {
  std::vector<std::vector<int32_t>> tokens;  // one per prompt; each has at least one token
  std::vector<std::string> texts;            // for echo; empty without it
  std::vector<int64_t> max_tokens;           // one per prompt: at most the rest of the context
  int64_t token_count = 0;

  // Approximate memory of the prompts.
  size_t bytes() const;
};

// The error (400) for an id that the model does not have; nullopt when it has all. `param`: the
// field with `ids`.
std::optional<http::ApiError> UnknownToken(const std::string& param, std::span<const int32_t> ids,
                                           const CheckpointFacts& facts);

std::variant<PreparedPrompts, http::ApiError> PreparePrompts(const CompletionRequest& request,
                                                             const CheckpointFacts& facts);

}  // namespace gp::gateway
