// `gp-peer-bench serve`: many concurrent clients request texts from the gateway, alone or
// alternating with llama.cpp's server and our sampler without HTTP.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/file.h"
#include "base/random_id.h"
#include "bench/peer_bench/idle_streams.h"
#include "bench/peer_bench/load_summary.h"
#include "bench/peer_bench/peer_command.h"
#include "bench/peer_bench/random_checkpoint.h"
#include "bench/peer_bench/serve_rounds.h"
#include "worker/bench/core_set.h"
#include "worker/bench/model_flags.h"

namespace gp::engine {
namespace {

struct ServeFlags {
  ModelFlags model;
  std::vector<int> streams = {1, 8, 32};
  int64_t requests = 1;
  RoundOptions round;
  std::string peer;
  std::string python;
  bool engine = false;
  int64_t idle = 0;
};

// A temporary directory that is removed with the object.
class Scratch {
 public:
  Scratch() : path_(std::filesystem::temp_directory_path() / ("gp-peer-bench-" + RandomId(8))) {
    std::filesystem::create_directories(path_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_;
};

struct Servers {
  std::unique_ptr<TextServer> gateway;
  std::unique_ptr<TextServer> peer;    // may be absent
  std::unique_ptr<TextServer> engine;  // may be absent

  std::vector<TextServer*> all() const {
    std::vector<TextServer*> servers = {gateway.get()};
    if (peer) servers.push_back(peer.get());
    if (engine) servers.push_back(engine.get());
    return servers;
  }
};

StatusOr<Servers> StartServers(const ServeFlags& flags, const ServedModel& model) {
  Servers servers;
  ASSIGN_OR_RETURN(servers.gateway, StartGateway(model));
  if (!flags.peer.empty()) {
    ASSIGN_OR_RETURN(servers.peer, StartLlamaServer(model, flags.python));
  }
  if (flags.engine) {
    ASSIGN_OR_RETURN(servers.engine, StartSampler(model));
  }
  return servers;
}

Json BesideJson(const std::string& name, const TextServer& server, const ServedRounds& ours,
                const ServedRounds& theirs) {
  Json json = {{"name", name}, {"description", server.description()}};
  json.update(ToJson(theirs));
  json["ratio_by_round"] =
      ToJson(Summarize(RatiosOf(ours.tokens_per_second, theirs.tokens_per_second)));
  return json;
}

// Latency of /livez while every stream is writing a text.
StatusOr<Json> MeasureLivez(const RoundOptions& options, TextServer& gateway) {
  ASSIGN_OR_RETURN(const LoadOutcome outcome, gateway.Write({.streams = options.streams,
                                                             .tokens = options.tokens,
                                                             .prompts = MakePrompts(options, -1),
                                                             .probe = "/livez"}));
  return PercentilesJson(outcome.probe_ms);
}

StatusOr<Json> MeasureStreams(const ServeFlags& flags, int64_t streams, const Servers& servers) {
  RoundOptions options = flags.round;
  options.streams = streams;
  options.texts = streams * flags.requests;
  ASSIGN_OR_RETURN(const std::vector<ServedRounds> rounds, MeasureInTurn(options, servers.all()));
  Json row = {{"streams", streams}, {"texts_of_a_round", options.texts}};
  row["gateway"] = ToJson(rounds[0]);
  if (servers.peer) row["peer"] = BesideJson(flags.peer, *servers.peer, rounds[0], rounds[1]);
  if (servers.engine) {
    row["engine"] = BesideJson("gp-sampler", *servers.engine, rounds[0], rounds.back());
  }
  ASSIGN_OR_RETURN(row["livez_ms"], MeasureLivez(options, *servers.gateway));
  return row;
}

StatusOr<Json> MeasureIdle(const ServeFlags& flags, const TextServer& gateway) {
  ASSIGN_OR_RETURN(
      const IdleOutcome outcome,
      HoldIdleStreams({.port = gateway.port(), .path = "/api/v1/events", .count = flags.idle},
                      [&] { return gateway.ResidentBytes(); }));
  return Json{{"streams", flags.idle},
              {"open_at_end", outcome.open_at_end},
              {"gateway_bytes_before", outcome.bytes_before},
              {"gateway_bytes_open", outcome.bytes_begin},
              {"gateway_bytes_at_end", outcome.bytes_end}};
}

void PrintBeside(const Json& beside) {
  fmt::print("    {:<12} {} tokens/s, first byte {:.1f} ms (p99 {:.1f}); ratio {}\n",
             beside["name"].get<std::string>(), SpreadText(beside["tokens_per_second"]),
             beside["first_byte_ms"]["p50"].get<double>(),
             beside["first_byte_ms"]["p99"].get<double>(), SpreadText(beside["ratio_by_round"], 2));
}

void PrintRow(const Json& row) {
  const Json& ours = row["gateway"];
  fmt::print("{} streams\n", row["streams"].get<int64_t>());
  fmt::print("    {:<12} {} tokens/s, first byte {:.1f} ms (p99 {:.1f}), {:.1f} requests/s\n",
             "gp-gateway", SpreadText(ours["tokens_per_second"]),
             ours["first_byte_ms"]["p50"].get<double>(), ours["first_byte_ms"]["p99"].get<double>(),
             ours["requests_per_second"]["median"].get<double>());
  for (const char* other : {"peer", "engine"}) {
    if (row.contains(other)) PrintBeside(row[other]);
  }
  fmt::print("    /livez       p50 {:.2f} ms, p99 {:.2f} ms\n",
             row["livez_ms"]["p50"].get<double>(), row["livez_ms"]["p99"].get<double>());
}

void PrintServe(const Json& report) {
  fmt::print("model {}, texts of {} tokens after {}, {}, {} threads\n",
             report["model"].get<std::string>(), report["tokens"].get<int64_t>(),
             report["prompt"].get<int64_t>(), report["precision"].get<std::string>(),
             report["threads"].get<int>());
  for (const Json& row : report["rows"]) PrintRow(row);
  if (!report.contains("idle")) return;
  const Json& idle = report["idle"];
  fmt::print(
      "{} of {} idle streams held; the gateway's memory {:.1f} MiB, with them {:.1f}, at "
      "the end {:.1f}\n",
      idle["open_at_end"].get<int64_t>(), idle["streams"].get<int64_t>(),
      idle["gateway_bytes_before"].get<double>() / (1 << 20),
      idle["gateway_bytes_open"].get<double>() / (1 << 20),
      idle["gateway_bytes_at_end"].get<double>() / (1 << 20));
}

StatusOr<ServedModel> MakeServedModel(const ServeFlags& flags, const ModelOptions& options,
                                      const Scratch& scratch) {
  ServedModel model{.precision = PrecisionName(options),
                    .streams = *std::max_element(flags.streams.begin(), flags.streams.end()),
                    .text_tokens = flags.round.prompt + flags.round.tokens,
                    .threads = options.threads,
                    .scratch = scratch.path()};
  if (model.text_tokens > options.shape.context) {
    return InvalidArgument("{} tokens after a prompt of {} do not fit the context of {}",
                           flags.round.tokens, flags.round.prompt, options.shape.context);
  }
  ASSIGN_OR_RETURN(model.checkpoint, WriteRandomCheckpoint(scratch.path(), options));
  return model;
}

Status RunServe(const ServeFlags& given) {
  ServeFlags flags = given;
  const ModelOptions options = MakeModelOptions(flags.model);
  flags.round.vocabulary = options.shape.vocabulary;
  UseCores(options.threads);
  const Scratch scratch;
  ASSIGN_OR_RETURN(const ServedModel model, MakeServedModel(flags, options, scratch));
  ASSIGN_OR_RETURN(const Servers servers, StartServers(flags, model));
  Json report = MakeDocument("ServeBench");
  report.update({{"model", flags.model.model},
                 {"prompt", flags.round.prompt},
                 {"tokens", flags.round.tokens},
                 {"precision", model.precision},
                 {"threads", model.threads},
                 {"rounds", flags.round.rounds},
                 {"rows", Json::array()}});
  for (const int streams : flags.streams) {
    ASSIGN_OR_RETURN(Json row, MeasureStreams(flags, streams, servers));
    report["rows"].push_back(std::move(row));
  }
  if (flags.idle > 0) {
    ASSIGN_OR_RETURN(report["idle"], MeasureIdle(flags, *servers.gateway));
  }
  flags.model.json() ? PrintJson(report) : PrintServe(report);
  return OkStatus();
}

}  // namespace

BenchRun AddServeCommand(const Command& app) {
  auto flags = std::make_shared<ServeFlags>();
  app.Option("--model", flags->model.model, "size of the model, whose weights are random")
      .OneOf(runspec::ModelNames())
      .ShowDefault();
  app.Option("--precision", flags->model.precision).OneOf({"fp32", "bf16"}).ShowDefault();
  app.Option("--threads", flags->model.threads, "threads (default: one per core)").Between(1, 1024);
  app.Option("--streams", flags->streams, "texts at a time, one row each (default: 1 8 32)");
  app.Option("--requests", flags->requests, "texts that each stream asks for in a round")
      .Positive()
      .ShowDefault();
  app.Option("--prompt", flags->round.prompt, "tokens that are there already")
      .Positive()
      .ShowDefault();
  app.Option("--tokens", flags->round.tokens, "tokens to write after each prompt")
      .Positive()
      .ShowDefault();
  app.Option("--rounds", flags->round.rounds, "measured rounds of each side")
      .Positive()
      .ShowDefault();
  app.Option("--warmup", flags->round.warmup).NonNegative().ShowDefault();
  app.Option("--peer", flags->peer, "also run this server, in turns").OneOf({"llama-server"});
  app.Option("--python", flags->python, "Python with the peer's packages");
  app.Switch("--engine", flags->engine, "also run the sampler without HTTP, in turns");
  app.Option("--idle", flags->idle, "then hold so many idle event streams")
      .NonNegative()
      .ShowDefault();
  AddOutputFlag(app, flags->model.output);
  return [flags] { return RunServe(*flags); };
}

}  // namespace gp::engine
