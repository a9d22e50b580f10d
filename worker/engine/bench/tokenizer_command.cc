// `gp-bench tokenizer`: GPT-2's byte-pair encoding of a text, alone or beside tiktoken.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "base/file.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/parallel_encode.h"
#include "worker/engine/bench/bench_command.h"
#include "worker/engine/bench/core_set.h"
#include "worker/engine/bench/model_flags.h"
#include "worker/engine/bench/paired_samples.h"
#include "worker/engine/bench/peer_program.h"

namespace gp::engine {
namespace {

struct TokenizerFlags {
  std::string text;
  int threads = 1;
  size_t piece_bytes = size_t{1} << 16;
  PairedOptions paired;
  std::string peer;
  std::string python;
  std::string output = "text";
};

StatusOr<std::optional<PeerProcess>> StartTokenizerPeer(const TokenizerFlags& flags) {
  if (flags.peer.empty()) return std::optional<PeerProcess>();
  ASSIGN_OR_RETURN(PeerProcess peer, StartPeer({"tiktoken_encode.py",
                                                flags.python,
                                                {fmt::format("--text={}", flags.text),
                                                 fmt::format("--threads={}", flags.threads),
                                                 fmt::format("--piece={}", flags.piece_bytes)}}));
  return std::optional<PeerProcess>(std::move(peer));
}

Json MakeReport(const TokenizerFlags& flags, size_t bytes, int64_t tokens,
                const PairedSamples& samples) {
  const SampleSummary ms = Summarize(samples.ours_ms);
  Json report = MakeDocument("TokenizerBench");
  report.update({{"text", flags.text},
                 {"bytes", bytes},
                 {"tokens", tokens},
                 {"threads", flags.threads},
                 {"ms", ToJson(ms)},
                 {"megabytes_per_second", static_cast<double>(bytes) / ms.median / 1e3}});
  return report;
}

void PrintTokenizer(const Json& report) {
  fmt::print("GPT-2 encoding of {}: {} bytes, {} tokens, {} threads\n",
             report["text"].get<std::string>(), report["bytes"].get<size_t>(),
             report["tokens"].get<int64_t>(), report["threads"].get<int>());
  fmt::print("encode     {} ms   median and quartiles\n", SpreadText(report["ms"]));
  fmt::print("rate       {:.1f} MB/s\n", report["megabytes_per_second"].get<double>());
  if (report.contains("peer")) PrintPeer(report["peer"]);
}

Status RunTokenizer(const TokenizerFlags& flags) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(flags.text));
  ASSIGN_OR_RETURN(const auto tokenizer, BytePairTokenizer::InstalledGpt2());
  UseCores(flags.threads);
  ASSIGN_OR_RETURN(std::optional<PeerProcess> peer, StartTokenizerPeer(flags));
  StatusOr<std::vector<int32_t>> tokens;
  const auto encode = [&] {
    const auto start = std::chrono::steady_clock::now();
    tokens = EncodeInParallel(*tokenizer, text, flags.threads, flags.piece_bytes);
    const auto elapsed = std::chrono::steady_clock::now() - start;
    return std::chrono::duration<double, std::milli>(elapsed).count();
  };
  ASSIGN_OR_RETURN(const PairedSamples samples,
                   MeasurePaired(flags.paired, encode, peer ? &*peer : nullptr));
  if (!tokens.ok()) return WithContext(tokens.status(), flags.text);
  Json report = MakeReport(flags, text.size(), std::ssize(*tokens), samples);
  if (peer) report["peer"] = PeerJson(flags.peer, *peer, samples);
  flags.output == "json" ? PrintJson(report) : PrintTokenizer(report);
  return OkStatus();
}

}  // namespace

BenchRun AddTokenizerCommand(const Command& app) {
  auto flags = std::make_shared<TokenizerFlags>();
  app.Option("--text", flags->text, "file to encode").Required().ExistingFile();
  app.Option("--threads", flags->threads).Between(1, 1024).ShowDefault();
  app.Option("--piece", flags->piece_bytes, "bytes that a thread encodes at a time, about")
      .Positive()
      .ShowDefault();
  AddPairedFlags(app, flags->paired);
  app.Option("--peer", flags->peer, "also run this peer, in alternating blocks")
      .OneOf({"tiktoken"});
  app.Option("--python", flags->python, "Python with the peer's packages");
  AddOutputFlag(app, flags->output);
  return [flags] { return RunTokenizer(*flags); };
}

}  // namespace gp::engine
