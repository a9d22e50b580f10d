// Completion: one request of /v1/completions while its texts are written: it collects them, or
// streams them as they grow. The callbacks that it gives to the ModelPool keep it alive until its
// answer is over. Used in the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/gateway/completions/completion_request.h"
#include "client/gateway/completions/completion_text.h"
#include "client/gateway/completions/prepared_prompts.h"
#include "client/gateway/models/model_pool.h"
#include "http/exchange.h"

namespace gp::gateway {

class Completion : public std::enable_shared_from_this<Completion> {
 public:
  Completion(std::shared_ptr<http::Exchange> exchange, CompletionRequest request,
             PreparedPrompts prompts, SharedFacts facts, std::string model);

  // Answers the exchange, at once (an error, or nothing to sample) or when the texts are complete.
  void Begin(ModelPool& pool);

 private:
  link::Generate TextOf(size_t index) const;
  // Whether the prompt is echoed before the text. If the prompt ends inside a character, the
  // sampler's text then begins with that whole character.
  bool ContinuesPrompt() const { return request_.echo && request_.max_tokens > 0; }
  // The prompt of a choice: choices 0 to n-1 are of prompt 0, and so on.
  size_t PromptOf(size_t index) const { return index / static_cast<size_t>(request_.n); }
  void OnPiece(size_t index, link::TextPiece piece);
  // Reserves `bytes` more for the answer. False: over the client's limit; the error was sent.
  bool Hold(size_t bytes);
  void OnFailed(const http::ApiError& error);
  // Returns the choice's next part: the piece's text, with the echoed prompt before the first one.
  ChoiceText PartOf(size_t index, link::TextPiece& piece);
  void BeginStream();
  void AnswerWithoutSampling();
  void Finish();
  http::Headers AnswerHeaders() const;

  std::shared_ptr<http::Exchange> exchange_;   // null once it has been answered
  std::shared_ptr<http::EventStream> stream_;  // streams only: set from the first text on
  const CompletionRequest request_;            // without its prompts
  const PreparedPrompts prompts_;
  const SharedFacts facts_;
  const uint64_t seed_;
  const std::string model_;
  const CompletionText text_;
  std::vector<ChoiceText> choices_;     // what was written so far; for a stream, without texts
  std::vector<LogprobsText> logprobs_;  // one per choice
  std::vector<bool> begun_;             // whether the choice's first part (with the echo) was made
  CompletionUsage usage_;
  size_t held_bytes_;               // bytes held for request and answer
  std::function<void()> withdraw_;  // set once the texts were submitted to the pool
  size_t unfinished_;
};

}  // namespace gp::gateway
