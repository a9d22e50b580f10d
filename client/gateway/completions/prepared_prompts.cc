#include "client/gateway/completions/prepared_prompts.h"

#include <algorithm>
#include <utility>

namespace gp::gateway {
namespace {

http::ApiError Wrong(const std::string& param, std::string message,
                     std::string code = "invalid_value") {
  return {.status = 400, .message = std::move(message), .param = param, .code = std::move(code)};
}

// The error for a prompt that is too long, in OpenAI's wording, because clients recognise it by its
// text.
http::ApiError TooLong(const CheckpointFacts& facts, const std::string& length) {
  return Wrong("prompt",
               fmt::format("This model's maximum context length is {} tokens. However, your prompt "
                           "has {} tokens, which leaves no room for an answer; shorten the prompt",
                           facts.context(), length),
               "context_length_exceeded");
}

std::variant<std::vector<int32_t>, http::ApiError> TokensOf(const Prompt& prompt,
                                                            bool parse_special,
                                                            const CheckpointFacts& facts) {
  std::vector<int32_t> tokens;
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    // Refuse without encoding: the text does not fit even if every token has the maximum length.
    if (text->size() > facts.text_bytes_max()) {
      const size_t least = text->size() / facts.token_bytes_max;
      return TooLong(facts, fmt::format("at least {}", least));
    }
    auto encoded =
        parse_special ? facts.tokenizer->EncodeWithSpecial(*text) : facts.tokenizer->Encode(*text);
    if (!encoded.ok()) return Wrong("prompt", "prompt: " + Message(encoded.status()));
    tokens = *std::move(encoded);
  } else {
    tokens = std::get<std::vector<int32_t>>(prompt);
  }
  if (tokens.empty()) tokens.push_back(facts.first_token());
  if (auto error = UnknownToken("prompt", tokens, facts)) return *std::move(error);
  return tokens;
}

bool IsEmpty(const Prompt& prompt) {
  return std::visit([](const auto& what) { return what.empty(); }, prompt);
}

}  // namespace

std::optional<http::ApiError> UnknownToken(const std::string& param, std::span<const int32_t> ids,
                                           const CheckpointFacts& facts) {
  const auto found =
      std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return id >= facts.vocabulary(); });
  if (found == ids.end()) return std::nullopt;
  return Wrong(param, fmt::format("{} holds the token id {}, this model has the ids 0 to {}", param,
                                  *found, facts.vocabulary() - 1));
}

size_t PreparedPrompts::bytes() const {
  size_t bytes = static_cast<size_t>(token_count) * sizeof(int32_t);
  for (const std::string& text : texts) bytes += text.size();
  return bytes;
}

std::variant<PreparedPrompts, http::ApiError> PreparePrompts(const CompletionRequest& request,
                                                             const CheckpointFacts& facts) {
  if (!request.logit_bias.empty() && request.logit_bias.rbegin()->first >= facts.vocabulary()) {
    return Wrong("logit_bias",
                 fmt::format("logit_bias names token id {}, but this model has ids 0 to {}",
                             request.logit_bias.rbegin()->first, facts.vocabulary() - 1));
  }
  for (const std::string& stop : request.stop) {
    if (stop.size() <= facts.text_bytes_max()) continue;
    return Wrong(
        "stop",
        fmt::format("stop has a string of {} bytes, but texts of this model have at most {}",
                    stop.size(), facts.text_bytes_max()));
  }
  PreparedPrompts prepared;
  for (const Prompt& prompt : request.prompts) {
    auto tokens = TokensOf(prompt, request.parse_special, facts);
    if (const auto* error = std::get_if<http::ApiError>(&tokens)) return *error;
    auto& ids = std::get<std::vector<int32_t>>(tokens);
    const auto length = static_cast<int64_t>(ids.size());
    const int64_t room = facts.context() - length;
    if (room < std::min<int64_t>(request.max_tokens, 1)) {
      return TooLong(facts, std::to_string(length));
    }
    prepared.max_tokens.push_back(std::min(request.max_tokens, room));
    prepared.token_count += length;
    if (request.echo) {
      prepared.texts.push_back(IsEmpty(prompt) ? "" : facts.tokenizer->Decode(ids));
    }
    prepared.tokens.push_back(std::move(ids));
  }
  return prepared;
}

}  // namespace gp::gateway
