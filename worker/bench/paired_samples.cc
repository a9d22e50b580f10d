#include "worker/bench/paired_samples.h"

#include <fmt/format.h>

#include <algorithm>

namespace gp::engine {

void AddPairedFlags(const Command& app, PairedOptions& options) {
  app.Option("--steps", options.repeats, "measured steps of each side").Positive().ShowDefault();
  app.Option("--warmup", options.warmup).NonNegative().ShowDefault();
  app.Option("--block", options.block, "steps of one side before the other side runs")
      .Positive()
      .ShowDefault();
}

StatusOr<PairedSamples> MeasurePaired(const PairedOptions& options,
                                      const std::function<double()>& ours, Peer* peer) {
  const auto block = [&](int count) {
    std::vector<double> ms;
    for (int i = 0; i < count; ++i) ms.push_back(ours());
    return ms;
  };
  return MeasurePaired(options, block, peer);
}

StatusOr<PairedSamples> MeasurePaired(const PairedOptions& options,
                                      const std::function<std::vector<double>(int)>& ours,
                                      Peer* peer) {
  if (options.warmup > 0) ours(options.warmup);
  if (peer != nullptr && options.warmup > 0) {
    RETURN_IF_ERROR(peer->RunSteps(options.warmup).status());
  }
  PairedSamples result;
  for (int done = 0; done < options.repeats; done += options.block) {
    const int count = std::min(options.block, options.repeats - done);
    const std::vector<double> block = ours(count);
    result.ours_ms.insert(result.ours_ms.end(), block.begin(), block.end());
    if (peer == nullptr) continue;
    ASSIGN_OR_RETURN(const std::vector<double> theirs, peer->RunSteps(count));
    result.peer_ms.insert(result.peer_ms.end(), theirs.begin(), theirs.end());
    result.ratios.push_back(Summarize(theirs).median / Summarize(block).median);
  }
  return result;
}

Json PeerJson(const std::string& name, const Peer& peer, const PairedSamples& samples) {
  const SampleSummary theirs = Summarize(samples.peer_ms);
  return {{"name", name},
          {"description", peer.description()},
          {"ms", ToJson(theirs)},
          {"ratio_of_medians", theirs.median / Summarize(samples.ours_ms).median},
          {"ratio_by_block", ToJson(Summarize(samples.ratios))}};
}

void PrintPeer(const Json& peer) {
  const Json& blocks = peer["ratio_by_block"];
  fmt::print("peer       {} ms: {}\n", SpreadText(peer["ms"]),
             peer["description"].get<std::string>());
  fmt::print("ratio      {:.2f}x as fast as {} (blocks {:.2f} to {:.2f})\n",
             peer["ratio_of_medians"].get<double>(), peer["name"].get<std::string>(),
             blocks["quartile_1"].get<double>(), blocks["quartile_3"].get<double>());
}

}  // namespace gp::engine
