// RunSurvey: fetches the coordinator's first page of runs, its workers and the sealed checkpoints
// of each run that has changed. Runs beyond the first page are listed in the first survey and then
// in every 30th, except the 100 newest that have ended. One survey fetches the checkpoints of at
// most 50 runs, the newest first, so that it does not delay the page and the workers; the next
// survey continues. Owned and used by one thread, which may wait.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/api/run_client.h"
#include "client/gateway/runs/board.h"

namespace gp::gateway {

class RunSurvey {
 public:
  static constexpr int kBoardRuns = 100;
  // Runs with checkpoints. When there are more, the oldest that have ended are left out: to serve
  // them, name their directories (gp-gateway --model).
  static constexpr size_t kRunsMax = 1000;

  explicit RunSurvey(client::RunClient& client) : client_(client) {}

  struct Finding {
    v1::ListResponse page;  // the first kBoardRuns runs of the coordinator's list
    std::vector<v1::Node> nodes;
    std::vector<ServedRun> sealed;  // latest submit first
    bool complete = false;  // no run is missing in `sealed`; otherwise the next survey continues
  };
  StatusOr<Finding> Run();

 private:
  struct Known {
    v1::Run run;
    std::string asked;   // the state of the run when its checkpoints were fetched
    ServedRun sealed;    // its sealed checkpoints; may be empty
    uint64_t round = 0;  // the round in which they were fetched
  };

  StatusOr<v1::ListResponse> FirstPage();
  // Ended runs that a long queue keeps off the first page.
  Status ReadNewestEnded();
  Status ReadOlderRuns(std::string page_token);
  StatusOr<v1::ListResponse> Read(const v1::ListRequest& request);
  void Note(const v1::Run& run);
  // Forgets the runs that were deleted. `all` is a list of all runs.
  void ForgetUnlisted(const v1::ListResponse& all);
  void ForgetOldest();
  // False when runs are left for the next survey.
  StatusOr<bool> AskForCheckpoints();
  Status AskFor(Known& known);

  client::RunClient& client_;
  uint64_t round_ = 0;
  std::map<std::string, Known> known_;  // by run id, runs with a checkpoint
};

}  // namespace gp::gateway
