#include "client/gateway/completions/completion_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include "client/gateway/completions/token_names.h"
#include "http/json_text.h"

namespace gp::gateway {
namespace {

void AppendComma(std::string& out) {
  if (!out.empty()) out += ',';
}

// Appends {"name": logprob, …} with the most likely tokens and the sampled one.
void AppendTop(const Tokenizer& tokenizer, int32_t token, const link::TokenScore& score,
               std::string& out) {
  std::set<std::string> written;
  const auto add = [&](int32_t id, double logprob) {
    const std::string name = TokenName(tokenizer, id);
    if (!written.insert(name).second) return;
    if (written.size() > 1) out += ',';
    http::AppendJsonString(name, out);
    out += ':';
    http::AppendJsonNumber(logprob, out);
  };
  out += '{';
  const size_t count = std::min(score.top.size(), score.top_logprobs.size());
  for (size_t i = 0; i < count; ++i) add(score.top[i], score.top_logprobs[i]);
  add(token, score.logprob);
  out += '}';
}

void AppendChoice(const ChoiceText& choice, std::string& out) {
  out += R"({"index":)";
  http::AppendJsonNumber(static_cast<int64_t>(choice.index), out);
  out += R"(,"text":)";
  http::AppendJsonString(choice.text, out);
  out += R"(,"logprobs":)";
  out += choice.logprobs.empty() ? "null" : choice.logprobs;
  out += R"(,"finish_reason":)";
  if (choice.finish) {
    http::AppendJsonString(*choice.finish, out);
  } else {
    out += "null";
  }
  out += '}';
}

std::string UsageText(const CompletionUsage& usage) {
  return fmt::format(R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{}}})",
                     usage.prompt_tokens, usage.completion_tokens,
                     usage.prompt_tokens + usage.completion_tokens);
}

}  // namespace

void LogprobsText::Add(const Tokenizer& tokenizer, int32_t token, const link::TokenScore* score) {
  AppendComma(tokens_);
  http::AppendJsonString(TokenName(tokenizer, token), tokens_);
  AppendComma(logprobs_);
  AppendComma(tops_);
  if (score == nullptr) {
    logprobs_ += "null";
    tops_ += "null";
  } else {
    http::AppendJsonNumber(score->logprob, logprobs_);
    AppendTop(tokenizer, token, *score, tops_);
  }
  AppendComma(offsets_);
  http::AppendJsonNumber(written_.count(), offsets_);
  written_.Add(tokenizer.Decode({&token, 1}));
}

std::string LogprobsText::Take() {
  std::string out = R"({"tokens":[)" + std::exchange(tokens_, "") + R"(],"token_logprobs":[)" +
                    std::exchange(logprobs_, "") + R"(],"top_logprobs":[)" +
                    std::exchange(tops_, "") + R"(],"text_offset":[)" +
                    std::exchange(offsets_, "") + "]}";
  return out;
}

CompletionText::CompletionText(const CompletionHead& head, bool nulls) : nulls_(nulls) {
  begin_ = R"({"id":)" + http::JsonString(head.id) + R"(,"object":"text_completion","created":)";
  http::AppendJsonNumber(head.created, begin_);
  begin_ += R"(,"model":)" + http::JsonString(head.model) + R"(,"choices":[)";
  end_ = R"(],"system_fingerprint":)" + http::JsonString(head.fingerprint);
}

std::string CompletionText::Chunk(const ChoiceText& choice) const {
  std::string out;
  out.reserve(begin_.size() + end_.size() + choice.text.size() + choice.logprobs.size() + 128);
  out += begin_;
  AppendChoice(choice, out);
  out += end_;
  out += nulls_ ? R"(,"usage":null})" : "}";
  return out;
}

std::string CompletionText::UsageChunk(const CompletionUsage& usage) const {
  return begin_ + end_ + R"(,"usage":)" + UsageText(usage) + "}";
}

std::string CompletionText::Whole(const std::vector<ChoiceText>& choices,
                                  const CompletionUsage& usage) const {
  std::string out = begin_;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) out += ',';
    AppendChoice(choices[i], out);
  }
  return out + end_ + R"(,"usage":)" + UsageText(usage) + "}";
}

}  // namespace gp::gateway
