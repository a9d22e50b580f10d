// `gp-peer-bench tokenizer`: GPT-2's byte-pair encoding of a text, alone or beside tiktoken; or
// learning a vocabulary from it, alone or beside Hugging Face's tokenizers.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/file.h"
#include "bench/peer_bench/peer_command.h"
#include "bench/peer_bench/peer_program.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/parallel_encode.h"
#include "tokenizer/training/byte_pair_trainer.h"
#include "tokenizer/training/piece_counter.h"
#include "worker/bench/core_set.h"
#include "worker/bench/model_flags.h"
#include "worker/bench/paired_samples.h"

namespace gp::engine {
namespace {

struct TokenizerFlags {
  std::string text;
  int threads = 1;
  size_t piece_bytes = size_t{1} << 16;
  int64_t learn = 0;  // ids to learn; 0: encode
  PairedOptions paired;
  std::string peer;
  std::string python;
  std::string output = "text";
};

// Does the work once and returns the number of tokens.
using TokenizerWork = std::function<StatusOr<int64_t>()>;

StatusOr<std::optional<PeerProcess>> StartTokenizerPeer(const TokenizerFlags& flags) {
  if (flags.peer.empty()) return std::optional<PeerProcess>();
  if ((flags.peer == "tokenizers") != (flags.learn > 0)) {
    return InvalidArgument("--peer tiktoken encodes, --peer tokenizers learns: with --learn");
  }
  const char* script = flags.learn > 0 ? "tokenizers_train.py" : "tiktoken_encode.py";
  const std::string how = flags.learn > 0 ? fmt::format("--vocabulary={}", flags.learn)
                                          : fmt::format("--piece={}", flags.piece_bytes);
  ASSIGN_OR_RETURN(PeerProcess peer,
                   StartPeer({script,
                              flags.python,
                              {fmt::format("--text={}", flags.text),
                               fmt::format("--threads={}", flags.threads), how}}));
  return std::optional<PeerProcess>(std::move(peer));
}

StatusOr<int64_t> LearnTokens(const TokenizerFlags& flags, const std::string& text) {
  PieceCounter counter(flags.threads);
  counter.Add(text);
  ASSIGN_OR_RETURN(const auto pieces, counter.Take());
  ASSIGN_OR_RETURN(const auto vocabulary, TrainBytePairs(pieces, {.vocabulary = flags.learn}));
  return std::ssize(vocabulary.tokens);
}

StatusOr<TokenizerWork> WorkOf(const TokenizerFlags& flags, const std::string& text) {
  if (flags.learn > 0) return TokenizerWork([&] { return LearnTokens(flags, text); });
  ASSIGN_OR_RETURN(const std::shared_ptr<const Tokenizer> tokenizer,
                   BytePairTokenizer::InstalledGpt2());
  return TokenizerWork([&flags, &text, tokenizer]() -> StatusOr<int64_t> {
    ASSIGN_OR_RETURN(const auto tokens,
                     EncodeInParallel(*tokenizer, text, flags.threads, flags.piece_bytes));
    return std::ssize(tokens);
  });
}

Json MakeReport(const TokenizerFlags& flags, size_t bytes, int64_t tokens,
                const PairedSamples& samples) {
  const SampleSummary ms = Summarize(samples.ours_ms);
  Json report = MakeDocument("TokenizerBench");
  report.update({{"text", flags.text},
                 {"bytes", bytes},
                 {"tokens", tokens},
                 {"threads", flags.threads},
                 {"work", flags.learn > 0 ? "learn" : "encode"},
                 {"ms", ToJson(ms)},
                 {"megabytes_per_second", static_cast<double>(bytes) / ms.median / 1e3}});
  return report;
}

void PrintTokenizer(const Json& report) {
  const auto work = report["work"].get<std::string>();
  fmt::print("{} {}: {} bytes, {} tokens, {} threads\n",
             work == "learn" ? "Learning from" : "GPT-2 encoding of",
             report["text"].get<std::string>(), report["bytes"].get<size_t>(),
             report["tokens"].get<int64_t>(), report["threads"].get<int>());
  fmt::print("{:<11}{} ms   median and quartiles\n", work, SpreadText(report["ms"]));
  fmt::print("rate       {:.1f} MB/s\n", report["megabytes_per_second"].get<double>());
  if (report.contains("peer")) PrintPeer(report["peer"]);
}

Status RunTokenizer(const TokenizerFlags& flags) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(flags.text));
  ASSIGN_OR_RETURN(const TokenizerWork work, WorkOf(flags, text));
  UseCores(flags.threads);
  ASSIGN_OR_RETURN(std::optional<PeerProcess> peer, StartTokenizerPeer(flags));
  StatusOr<int64_t> tokens;
  const auto measured = [&] {
    const auto start = std::chrono::steady_clock::now();
    tokens = work();
    const auto elapsed = std::chrono::steady_clock::now() - start;
    return std::chrono::duration<double, std::milli>(elapsed).count();
  };
  ASSIGN_OR_RETURN(const PairedSamples samples,
                   MeasurePaired(flags.paired, measured, peer ? &*peer : nullptr));
  if (!tokens.ok()) return WithContext(tokens.status(), flags.text);
  Json report = MakeReport(flags, text.size(), *tokens, samples);
  if (peer) report["peer"] = PeerJson(flags.peer, *peer, samples);
  flags.output == "json" ? PrintJson(report) : PrintTokenizer(report);
  return OkStatus();
}

}  // namespace

BenchRun AddTokenizerCommand(const Command& app) {
  auto flags = std::make_shared<TokenizerFlags>();
  app.Option("--text", flags->text, "file to encode").Path().Required().ExistingFile();
  app.Option("--threads", flags->threads).Between(1, 1024).ShowDefault();
  app.Option("--piece", flags->piece_bytes,
             "approximate number of bytes that a thread encodes at a time")
      .Positive()
      .ShowDefault();
  app.Option("--learn", flags->learn, "learn a vocabulary of so many ids instead of encoding")
      .Between(257, 65536);
  AddPairedFlags(app, flags->paired);
  app.Option("--peer", flags->peer, "also run this peer, in alternating blocks")
      .OneOf({"tiktoken", "tokenizers"});
  app.Option("--python", flags->python, "Python with the peer's packages");
  AddOutputFlag(app, flags->output);
  return [flags] { return RunTokenizer(*flags); };
}

}  // namespace gp::engine
