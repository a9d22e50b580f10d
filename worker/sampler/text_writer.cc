#include "worker/sampler/text_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text/utf8.h"

namespace gp::engine {
namespace {

SamplingOptions SamplingOf(const link::Generate& request) {
  return {.presence_penalty = request.presence_penalty,
          .frequency_penalty = request.frequency_penalty,
          .logit_bias = request.logit_bias,
          .temperature = request.temperature,
          .top_k = request.top_k,
          .top_p = request.top_p,
          .min_p = request.min_p};
}

bool AllFinite(const link::Generate& request) {
  const bool biases = std::all_of(request.logit_bias.begin(), request.logit_bias.end(),
                                  [](const auto& bias) { return std::isfinite(bias.second); });
  return biases && std::isfinite(request.temperature) && std::isfinite(request.top_p) &&
         std::isfinite(request.min_p) && std::isfinite(request.presence_penalty) &&
         std::isfinite(request.frequency_penalty);
}

link::TokenScore OnTheLink(ScoredToken score) {
  return {.logprob = score.logprob,
          .top = std::move(score.top),
          .top_logprobs = {score.top_logprobs.begin(), score.top_logprobs.end()}};
}

// Takes the first `count` out of `values`.
template <typename T>
std::vector<T> TakeFirst(std::vector<T>& values, int64_t count) {
  const auto end = values.begin() + std::min<std::ptrdiff_t>(count, std::ssize(values));
  std::vector<T> first(std::make_move_iterator(values.begin()), std::make_move_iterator(end));
  values.erase(values.begin(), end);
  return first;
}

}  // namespace

TextWriter::TextWriter(Decoder& decoder, const Tokenizer& tokenizer, int64_t prompt_rows)
    : decoder_(decoder),
      tokenizer_(tokenizer),
      drawable_(std::min(decoder.vocabulary(), tokenizer.vocabulary_size())),
      batch_(decoder, {.drawable = drawable_, .prompt_rows = prompt_rows}) {}

std::string TextWriter::WhyImpossible(const link::Generate& request) const {
  if (texts_.contains(request.request)) return "the request id is already in use";
  if (request.prompt.empty()) return "the prompt has no tokens; give at least one";
  for (const int32_t id : request.prompt) {
    if (id < 0 || id >= decoder_.vocabulary()) {
      return fmt::format("token {} of the prompt is not below the vocabulary of {} ids", id,
                         decoder_.vocabulary());
    }
  }
  return AllFinite(request) ? "" : "a sampling parameter is not a finite number";
}

void TextWriter::Add(const link::Generate& request) {
  if (std::string why = WhyImpossible(request); !why.empty()) {
    refused_.push_back({.request = request.request, .error = std::move(why)});
    return;
  }
  std::string begun;
  if (request.continues_prompt.value_or(false)) {
    const std::string prompt = tokenizer_.Decode(request.prompt);
    begun = prompt.substr(prompt.size() - UnfinishedBytes(prompt));
  }
  texts_.emplace(request.request,
                 Text{.stream = StreamingDetokenizer(tokenizer_, request.stop, begun),
                      .is_scored = request.logprobs.has_value()});
  std::vector<int32_t> end_tokens;
  if (!request.ignore_end_of_text) end_tokens = tokenizer_.special_tokens().model_eos;
  batch_.Add(request.request, {.prompt = request.prompt,
                               .sampling = SamplingOf(request),
                               .max_tokens = request.max_tokens,
                               .seed = request.seed,
                               .sample = request.sample,
                               .end_tokens = std::move(end_tokens),
                               .scored = request.logprobs,
                               .score_prompt = request.score_prompt});
}

void TextWriter::Withdraw(uint64_t request) {
  batch_.Drop(request);
  texts_.erase(request);
}

link::Generated TextWriter::Advance() {
  link::Generated generated{.pieces = std::exchange(refused_, {})};
  for (TextProgress& progress : batch_.Advance()) {
    const auto text = texts_.find(progress.id);
    link::TextPiece piece = Note(std::move(progress), text->second);
    const bool is_last = piece.finish || piece.error;
    if (is_last) Withdraw(piece.request);
    if (is_last || !piece.tokens.empty() || !piece.text.empty()) {
      generated.pieces.push_back(std::move(piece));
    }
  }
  return generated;
}

link::TextPiece TextWriter::Note(TextProgress progress, Text& text) {
  link::TextPiece piece{.request = progress.id};
  for (ScoredToken& score : progress.prompt_scores) {
    text.prompt_scores.push_back(OnTheLink(std::move(score)));
  }
  if (progress.token) {
    text.tokens.push_back(*progress.token);
    if (text.is_scored) text.scores.push_back(OnTheLink(std::move(progress.score)));
    GiveOut(text.stream.Add(*progress.token), text, piece);
  }
  if (text.stream.stopped()) {
    piece.finish = "stop";
  } else if (progress.end == TextEnd::kNotFinite) {
    piece.error = "the model's logits are not finite numbers: its weights have diverged";
  } else if (progress.end != TextEnd::kNone) {
    GiveOut(text.stream.Finish(), text, piece);
    const bool stopped = text.stream.stopped() || progress.end != TextEnd::kLength;
    piece.finish = stopped ? "stop" : "length";
  }
  return piece;
}

void TextWriter::GiveOut(StreamingDetokenizer::Piece certain, Text& text, link::TextPiece& piece) {
  piece.text += certain.text;
  std::ranges::move(TakeFirst(text.tokens, certain.tokens), std::back_inserter(piece.tokens));
  std::ranges::move(TakeFirst(text.scores, certain.tokens), std::back_inserter(piece.scores));
  std::ranges::move(std::exchange(text.prompt_scores, {}), std::back_inserter(piece.prompt_scores));
}

}  // namespace gp::engine
