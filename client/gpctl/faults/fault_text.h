// What 'gpctl bench faults' prints: its rows as a table and as JSON. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/gpctl/faults/fault_bench.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_text.h"

namespace gp::gpctl {

struct FaultReport {
  std::string machine;  // "AMD EPYC, 2 cores"
  uint64_t seed = 0;
  std::string recovery;
  uint64_t gradient_bytes = 0;  // of one step
  std::vector<FaultRow> rows;
};

std::string FaultTable(const FaultReport& report, const TextStyle& style);
Json FaultFields(const FaultReport& report);

}  // namespace gp::gpctl
