// What a stop of the service saved of each run that trained: asked before the stop, read from the
// runs' directories after it. Used by gpctl's main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/api/run_client.h"

namespace gp::gpctl {

struct StoppedRun {
  std::string run_id;
  std::string name;
  std::string directory;
  uint64_t epoch = 0;
  int64_t step = 0;         // the newest that was known before the stop
  int64_t checkpoint = -1;  // the newest checkpoint that was known before the stop; -1: none
};

// The runs whose ranks train or start now.
StatusOr<std::vector<StoppedRun>> RunsWithRanks(client::RunClient& client);

// The step of the newest checkpoint after the stop: one that the run's last ranks wrote, else the
// one known before. -1: none.
int64_t SavedStep(const StoppedRun& run);

// A sentence for each run: "tiny saved step 412." or what it will train again.
std::string SavedText(const std::vector<StoppedRun>& runs);

}  // namespace gp::gpctl
