#include "bench/peer_bench/serve_rounds.h"

#include <algorithm>
#include <cstddef>
#include <random>

#include "bench/peer_bench/load_summary.h"

namespace gp::engine {
namespace {

Status CheckTokens(const RoundOptions& options, const TextServer& server,
                   const std::vector<TextTiming>& texts) {
  for (const TextTiming& text : texts) {
    if (text.tokens != options.tokens) {
      return FailedPrecondition("{} wrote a text of {} tokens instead of {}", server.description(),
                                text.tokens, options.tokens);
    }
  }
  return OkStatus();
}

void Append(ServedRounds& all, const std::vector<TextTiming>& texts) {
  const RoundRates rates = RatesOf(texts);
  all.tokens_per_second.push_back(rates.tokens_per_second);
  all.requests_per_second.push_back(rates.requests_per_second);
  const std::vector<double> first_byte_ms = FirstByteMs(texts);
  all.first_byte_ms.insert(all.first_byte_ms.end(), first_byte_ms.begin(), first_byte_ms.end());
}

}  // namespace

std::vector<std::vector<int32_t>> MakePrompts(const RoundOptions& options, int round) {
  std::mt19937 random(static_cast<uint32_t>(round) + 1);
  std::vector<std::vector<int32_t>> prompts(static_cast<size_t>(options.texts));
  for (auto& prompt : prompts) {
    for (int64_t i = 0; i < options.prompt; ++i) {
      prompt.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(options.vocabulary)));
    }
  }
  return prompts;
}

StatusOr<std::vector<ServedRounds>> MeasureInTurn(const RoundOptions& options,
                                                  const std::vector<TextServer*>& servers) {
  std::vector<ServedRounds> results(servers.size());
  for (int round = 0; round < options.warmup + options.rounds; ++round) {
    const TextRound work{.streams = options.streams,
                         .tokens = options.tokens,
                         .prompts = MakePrompts(options, round)};
    for (size_t turn = 0; turn < servers.size(); ++turn) {
      const size_t i = (static_cast<size_t>(round) + turn) % servers.size();
      ASSIGN_OR_RETURN(const LoadOutcome outcome, servers[i]->Write(work));
      RETURN_IF_ERROR(CheckTokens(options, *servers[i], outcome.texts));
      if (round >= options.warmup) Append(results[i], outcome.texts);
    }
  }
  return results;
}

Json ToJson(const ServedRounds& rounds) {
  return {{"tokens_per_second", ToJson(Summarize(rounds.tokens_per_second))},
          {"requests_per_second", ToJson(Summarize(rounds.requests_per_second))},
          {"first_byte_ms", PercentilesJson(rounds.first_byte_ms)}};
}

}  // namespace gp::engine
