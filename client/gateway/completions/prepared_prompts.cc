#include "client/gateway/completions/prepared_prompts.h"

#include <utility>

namespace gp::gateway {
namespace {

http::ApiError Wrong(const std::string& param, std::string message,
                     std::string code = "invalid_value") {
  return {.status = 400, .message = std::move(message), .param = param, .code = std::move(code)};
}

std::variant<std::vector<int32_t>, http::ApiError> TokensOf(const Prompt& prompt,
                                                            const CheckpointFacts& facts) {
  std::vector<int32_t> tokens;
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    auto encoded = facts.tokenizer->Encode(*text);
    if (!encoded.ok()) return Wrong("prompt", "prompt: " + Message(encoded.status()));
    tokens = *std::move(encoded);
  } else {
    tokens = std::get<std::vector<int32_t>>(prompt);
  }
  if (tokens.empty()) tokens.push_back(facts.first_token());
  for (const int32_t token : tokens) {
    if (token >= facts.vocabulary()) {
      return Wrong("prompt",
                   fmt::format("prompt holds the token id {}, this model has the ids 0 to {}",
                               token, facts.vocabulary() - 1));
    }
  }
  return tokens;
}

bool IsEmpty(const Prompt& prompt) {
  return std::visit([](const auto& what) { return what.empty(); }, prompt);
}

}  // namespace

std::variant<PreparedPrompts, http::ApiError> PreparePrompts(const CompletionRequest& request,
                                                             const CheckpointFacts& facts) {
  if (!request.logit_bias.empty() && request.logit_bias.rbegin()->first >= facts.vocabulary()) {
    return Wrong("logit_bias",
                 fmt::format("logit_bias names the token id {}, this model has the ids 0 to {}",
                             request.logit_bias.rbegin()->first, facts.vocabulary() - 1));
  }
  PreparedPrompts prepared;
  for (const Prompt& prompt : request.prompts) {
    auto tokens = TokensOf(prompt, facts);
    if (const auto* error = std::get_if<http::ApiError>(&tokens)) return *error;
    auto& ids = std::get<std::vector<int32_t>>(tokens);
    const auto length = static_cast<int64_t>(ids.size());
    if (length + request.max_tokens > facts.context()) {
      return Wrong("prompt",
                   fmt::format("this model's context is {} tokens, but the prompt has {} and "
                               "max_tokens is {}; shorten the prompt or lower max_tokens",
                               facts.context(), length, request.max_tokens),
                   "context_length_exceeded");
    }
    prepared.token_count += length;
    if (request.echo) {
      prepared.texts.push_back(IsEmpty(prompt) ? "" : facts.tokenizer->Decode(ids));
    }
    prepared.tokens.push_back(std::move(ids));
  }
  return prepared;
}

}  // namespace gp::gateway
