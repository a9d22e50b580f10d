// `gp-peer-bench allreduce`: the gradient all-reduce among processes of this machine, alone or in
// alternating blocks with torch.distributed's, as bus bandwidth in the sense of nccl-tests:
// 2(n-1)/n of the bytes over the time.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>

#include "bench/peer_bench/allreduce_ranks.h"
#include "bench/peer_bench/peer_command.h"
#include "bench/peer_bench/peer_program.h"
#include "worker/bench/paired_samples.h"

namespace gp::engine {
namespace {

const std::map<std::string, RankTransport> kTransports = {{"shm", RankTransport::kSharedMemory},
                                                          {"tcp", RankTransport::kTcp},
                                                          {"tls", RankTransport::kTls},
                                                          {"nccl", RankTransport::kNccl}};

struct AllReduceFlags {
  uint64_t size_bytes = 500'000'000;
  std::vector<int> ranks = {2, 4};
  std::string transport = "shm";
  PairedOptions paired{.repeats = 10, .warmup = 2, .block = 2};
  std::string peer;
  std::string python;
  std::string output = "text";

  int64_t elements() const { return static_cast<int64_t>(size_bytes / sizeof(float)); }
};

double BusGigabytes(const AllReduceFlags& flags, int ranks, double milliseconds) {
  const double moved = 2.0 * (ranks - 1) / ranks * static_cast<double>(flags.size_bytes);
  return moved / (milliseconds * 1e6);
}

// The same samples as bus bandwidth. The lower time quartile gives the higher rate, so `low` and
// `high` are swapped.
SampleSummary BusSummary(const AllReduceFlags& flags, int ranks, const SampleSummary& ms) {
  const auto rate = [&](double value) { return BusGigabytes(flags, ranks, value); };
  return {
      .median = rate(ms.median), .low = rate(ms.high), .high = rate(ms.low), .mean = rate(ms.mean)};
}

StatusOr<PeerProcess> StartGloo(const AllReduceFlags& flags, int ranks) {
  return StartPeer(
      {"gloo_allreduce.py",
       flags.python,
       {fmt::format("--ranks={}", ranks), fmt::format("--elements={}", flags.elements())}});
}

StatusOr<Json> MeasureRanks(const AllReduceFlags& flags, int ranks) {
  AllReduceRanks group(ranks, flags.elements(), kTransports.at(flags.transport));
  std::optional<PeerProcess> peer;
  if (!flags.peer.empty()) {
    ASSIGN_OR_RETURN(PeerProcess started, StartGloo(flags, ranks));
    peer.emplace(std::move(started));
  }
  ASSIGN_OR_RETURN(const PairedSamples samples,
                   MeasurePaired(
                       flags.paired, [&] { return group.Run(); }, peer ? &*peer : nullptr));
  const SampleSummary ms = Summarize(samples.ours_ms);
  Json result = {{"ranks", ranks},
                 {"ms", ToJson(ms)},
                 {"bus_gb_per_second", ToJson(BusSummary(flags, ranks, ms))}};
  if (peer) {
    result["peer"] = PeerJson(flags.peer, *peer, samples);
    result["peer"]["bus_gb_per_second"] =
        ToJson(BusSummary(flags, ranks, Summarize(samples.peer_ms)));
  }
  return result;
}

void PrintResult(const Json& result) {
  fmt::print("{} ranks    {} ms, bus bandwidth {} GB/s   median and quartiles\n",
             result["ranks"].get<int>(), SpreadText(result["ms"]),
             SpreadText(result["bus_gb_per_second"], 2));
  if (!result.contains("peer")) return;
  fmt::print("peer       bus bandwidth {} GB/s\n",
             SpreadText(result["peer"]["bus_gb_per_second"], 2));
  PrintPeer(result["peer"]);
}

Status RunAllReduce(const AllReduceFlags& flags) {
  Json report = MakeDocument("AllReduceBench");
  report.update({{"size_bytes", flags.size_bytes},
                 {"transport", flags.transport},
                 {"results", Json::array()}});
  const bool text = flags.output == "text";
  if (text) fmt::print("all-reduce of {} bytes fp32, {}\n", flags.size_bytes, flags.transport);
  for (const int ranks : flags.ranks) {
    ASSIGN_OR_RETURN(const Json result, MeasureRanks(flags, ranks));
    if (text) PrintResult(result);
    report["results"].push_back(result);
  }
  if (!text) PrintJson(report);
  return OkStatus();
}

}  // namespace

BenchRun AddAllReduceCommand(const Command& app) {
  auto flags = std::make_shared<AllReduceFlags>();
  app.Option("--size", flags->size_bytes, "bytes of the buffer: 500MB, 64MiB")
      .SizeInBytes()
      .Between(uint64_t{4}, uint64_t{1} << 40)
      .ShowDefault();
  app.Option("--ranks", flags->ranks, "processes, one measurement each: 2,4")
      .Delimiter(',')
      .Between(1, 64)
      .ShowDefault();
  app.Option(
         "--transport", flags->transport,
         "shm: shared memory; tcp: loopback; tls: the same, encrypted; nccl: a GPU for each rank")
      .OneOf({"shm", "tcp", "tls", "nccl"})
      .ShowDefault();
  AddPairedFlags(app, flags->paired);
  app.Option("--peer", flags->peer, "also run this peer, in alternating blocks").OneOf({"gloo"});
  app.Option("--python", flags->python, "Python with the peer's packages");
  app.Option("-o,--output", flags->output).OneOf({"text", "json"}).ShowDefault();
  return [flags] { return RunAllReduce(*flags); };
}

}  // namespace gp::engine
