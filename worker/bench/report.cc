#include "worker/bench/report.h"

#include <fmt/format.h>

namespace gp::engine {

Json MakeDocument(const std::string& kind) { return {{"apiVersion", "gp/v1"}, {"kind", kind}}; }

Json ToJson(const SampleSummary& summary) {
  return {{"median", summary.median},
          {"quartile_1", summary.low},
          {"quartile_3", summary.high},
          {"mean", summary.mean}};
}

std::string SpreadText(const Json& summary, int decimals) {
  return fmt::format("{:.{}f} ({:.{}f} to {:.{}f})", summary["median"].get<double>(), decimals,
                     summary["quartile_1"].get<double>(), decimals,
                     summary["quartile_3"].get<double>(), decimals);
}

void PrintJson(const Json& document) { fmt::print("{}\n", document.dump(2)); }

}  // namespace gp::engine
