#include "client/gateway/completions/completion.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/clock.h"
#include "base/random_id.h"
#include "base/text/utf8.h"
#include "client/gateway/completions/json_body.h"

namespace gp::gateway {
namespace {

// 31 bits: short enough for people to type, and exact in JSON readers that store numbers as double.
uint64_t RandomSeed() { return std::stoul(RandomHex(4), nullptr, 16) & 0x7fffffff; }

CompletionHead MakeHead(const CheckpointFacts& facts, const std::string& model) {
  const auto now = SystemClock().WallNow().time_since_epoch();
  return {.id = "cmpl-" + RandomId(24),
          .created = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
          .model = model,
          .fingerprint = facts.fingerprint};
}

// Drops the prompts to save memory: PreparedPrompts has their tokens.
CompletionRequest WithoutPrompts(CompletionRequest request) {
  request.prompts.clear();
  return request;
}

}  // namespace

Completion::Completion(std::shared_ptr<http::Exchange> exchange, CompletionRequest request,
                       PreparedPrompts prompts, SharedFacts facts, std::string model)
    : exchange_(std::move(exchange)),
      request_(WithoutPrompts(std::move(request))),
      prompts_(std::move(prompts)),
      facts_(std::move(facts)),
      seed_(request_.seed.value_or(RandomSeed())),
      model_(std::move(model)),
      text_(MakeHead(*facts_, model_), request_.include_usage),
      choices_(static_cast<size_t>(request_.n) * prompts_.tokens.size()),
      logprobs_(choices_.size()),
      begun_(choices_.size(), false),
      held_bytes_(request_.bytes() + prompts_.bytes()),
      unfinished_(choices_.size()) {
  for (size_t i = 0; i < choices_.size(); ++i) choices_[i].index = i;
  usage_.prompt_tokens = prompts_.token_count;
  exchange_->notes().model = model_;
  exchange_->notes().prompt_tokens = prompts_.token_count;
}

void Completion::Begin(ModelPool& pool) {
  if (request_.max_tokens == 0 && !(request_.echo && request_.logprobs)) {
    return AnswerWithoutSampling();
  }
  auto request = std::make_shared<TextRequest>();
  request->asker = exchange_->request().Asker();
  const auto self = shared_from_this();
  request->count = choices_.size();
  request->text = [self](size_t index) { return self->TextOf(index); };
  request->cost = [self](size_t index) {
    const size_t prompt = self->PromptOf(index);
    return std::ssize(self->prompts_.tokens[prompt]) + self->prompts_.max_tokens[prompt];
  };
  request->piece = [self](size_t index, link::TextPiece piece) {
    self->OnPiece(index, std::move(piece));
  };
  request->failed = [self](const http::ApiError& error) { self->OnFailed(error); };
  if (const auto refusal = pool.Submit(facts_, model_, request)) return OnFailed(*refusal);
  withdraw_ = [&pool, ticket = request->ticket] { pool.Withdraw(ticket); };
  const auto leave = [weak = weak_from_this(), withdraw = withdraw_] {
    withdraw();
    if (const auto completion = weak.lock()) completion->stream_.reset();
  };
  if (exchange_) exchange_->OnGone(leave);
}

link::Generate Completion::TextOf(size_t index) const {
  const size_t prompt = PromptOf(index);
  return {.prompt = prompts_.tokens[prompt],
          .max_tokens = prompts_.max_tokens[prompt],
          .temperature = request_.temperature,
          .top_k = request_.top_k,
          .top_p = request_.top_p,
          .min_p = request_.min_p,
          .presence_penalty = request_.presence_penalty,
          .frequency_penalty = request_.frequency_penalty,
          .logit_bias = request_.logit_bias,
          .seed = seed_,
          .sample = index % static_cast<size_t>(request_.n),
          .stop = request_.stop,
          .logprobs = request_.logprobs,
          .score_prompt = request_.echo && request_.logprobs.has_value(),
          .ignore_end_of_text = request_.ignore_eos,
          .continues_prompt = ContinuesPrompt() ? std::optional(true) : std::nullopt};
}

bool Completion::Hold(size_t bytes) {
  held_bytes_ += bytes;
  if (exchange_->Hold(held_bytes_)) return true;
  if (withdraw_) withdraw_();
  OnFailed({.status = 503,
            .message = "the answer is too large to buffer; ask for fewer "
                       "texts, tokens or logprobs, or set stream",
            .code = "answer_too_large"});
  return false;
}

ChoiceText Completion::PartOf(size_t index, link::TextPiece& piece) {
  const Tokenizer& tokenizer = *facts_->tokenizer;
  LogprobsText& logprobs = logprobs_[index];
  ChoiceText part{.index = index, .finish = piece.finish};
  const bool first = !begun_[index];
  begun_[index] = true;
  if (first && request_.echo) {
    const size_t prompt = PromptOf(index);
    part.text = prompts_.texts[prompt];
    // If the prompt ends inside a character, cut its bytes: the sampler's text begins with the
    // whole character, or with U+FFFD.
    if (ContinuesPrompt()) part.text.resize(part.text.size() - UnfinishedBytes(part.text));
    const std::vector<int32_t>& tokens = prompts_.tokens[prompt];
    for (size_t i = 0; request_.logprobs && i < tokens.size(); ++i) {
      const bool scored = i > 0 && i - 1 < piece.prompt_scores.size();
      logprobs.Add(tokenizer, tokens[i], scored ? &piece.prompt_scores[i - 1] : nullptr);
    }
  }
  part.text += piece.text;
  for (size_t i = 0; request_.logprobs && i < piece.tokens.size(); ++i) {
    const bool scored = i < piece.scores.size();
    logprobs.Add(tokenizer, piece.tokens[i], scored ? &piece.scores[i] : nullptr);
  }
  return part;
}

void Completion::OnPiece(size_t index, link::TextPiece piece) {
  if (!stream_ && !exchange_) return;  // it was answered with an error
  http::ExchangeNotes& notes = stream_ ? stream_->notes() : exchange_->notes();
  if (!notes.first_token) notes.first_token = std::chrono::steady_clock::now();
  usage_.completion_tokens += static_cast<int64_t>(piece.tokens.size());
  notes.tokens = usage_.completion_tokens;
  const bool says_something = !piece.text.empty() || !piece.tokens.empty() || piece.finish ||
                              (!begun_[index] && request_.echo);
  const size_t logprobs_bytes = logprobs_[index].bytes();
  ChoiceText part = PartOf(index, piece);
  if (request_.stream) {
    if (!stream_) BeginStream();
    if (request_.logprobs) part.logprobs = logprobs_[index].Take();
    if (says_something) stream_->Send(text_.Chunk(part));
    if (!stream_) return;  // the client read too slowly and was disconnected
  } else {
    if (!Hold(part.text.size() + logprobs_[index].bytes() - logprobs_bytes)) return;
    choices_[index].text += part.text;
    choices_[index].finish = part.finish;
  }
  if (part.finish && --unfinished_ == 0) Finish();
}

void Completion::BeginStream() {
  stream_ = exchange_->BeginEventStream(AnswerHeaders());
  exchange_.reset();
}

void Completion::Finish() {
  if (stream_) {
    const auto stream = std::exchange(stream_, nullptr);
    if (request_.include_usage) stream->Send(text_.UsageChunk(usage_));
    return stream->End("[DONE]");
  }
  for (size_t i = 0; request_.logprobs && i < choices_.size(); ++i) {
    choices_[i].logprobs = logprobs_[i].Take();
  }
  exchange_->Respond({.body = text_.Whole(choices_, usage_), .headers = AnswerHeaders()});
  exchange_.reset();
}

void Completion::OnFailed(const http::ApiError& error) {
  if (stream_) {
    const auto stream = std::exchange(stream_, nullptr);
    stream->Send(http::ErrorBody(error));
    stream->End("[DONE]");
  } else if (exchange_) {
    exchange_->Respond(error);
    exchange_.reset();
  }
}

void Completion::AnswerWithoutSampling() {
  for (size_t i = 0; i < choices_.size(); ++i) {
    link::TextPiece nothing;
    nothing.finish = "length";
    OnPiece(i, std::move(nothing));
  }
}

http::Headers Completion::AnswerHeaders() const {
  http::Headers headers = IgnoredHeader(request_.ignored);
  headers.emplace_back("x-gp-seed", std::to_string(seed_));
  return headers;
}

}  // namespace gp::gateway
