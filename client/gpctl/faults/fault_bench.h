// FaultBench: trains small runs on a FaultService, hurts them at random moments, and measures how
// they go on: one row for each kind of fault. One thread uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "client/api/run_client.h"
#include "client/gpctl/faults/fault_service.h"
#include "client/gpctl/faults/fault_timeline.h"

namespace gp::gpctl {

struct FaultBenchOptions {
  int kills = 50;  // of the rows that kill ranks of a run that goes on; the others kill fewer
  uint64_t seed = 0;
  std::string recovery = "in_place";  // stability.recovery
  int steps = 200;                    // of each run
};

struct FaultRow {
  std::string fault;
  int ranks = 0;
  int kills = 0;  // processes that were killed
  double next_step_seconds_p50 = 0;
  double next_step_seconds_p99 = 0;
  int64_t steps_redone = 0;            // from a checkpoint or the start
  uint64_t checkpoint_bytes_read = 0;  // by all ranks
  int64_t epochs = 0;                  // of all runs of the row
  bool weights_equal = true;           // to those of the run without a fault
};

class FaultBench {
 public:
  static constexpr int kAgents = 2;
  static constexpr int kRanks = 4;

  // `tell` receives a line when a row begins, and about every ten kills. `interruption` must
  // outlive this object.
  FaultBench(FaultService& service, const FaultBenchOptions& options, const Clock& clock,
             client::Interruption& interruption, std::function<void(const std::string&)> tell);

  // Trains the run without a fault, whose weights the others are compared with.
  Status Prepare();
  StatusOr<std::vector<FaultRow>> Run();

  uint64_t gradient_bytes() const { return gradient_bytes_; }

 private:
  struct Kind {
    std::string name;
    int processes = 1;       // killed by one fault
    int faults_per_run = 1;  // at most
    int share = 1;           // of the kills of the options: 1 / share
    bool ends_group = true;  // the ranks form another group, or start again
    StatusOr<int> (FaultBench::*strike)();
  };
  static std::vector<Kind> Kinds();

  StatusOr<FaultRow> Measure(const Kind& kind);
  StatusOr<int> HurtOneRun(const Kind& kind, int kills_max, FaultRow& row);
  StatusOr<bool> AwaitMoment(const std::string& run);
  Status AwaitNextGroup(const std::string& run, uint64_t epoch);
  Status Account(const std::string& run, const std::vector<Fault>& faults, FaultRow& row);

  StatusOr<int> KillOneRank();
  StatusOr<int> KillTwoRanks();
  StatusOr<int> KillRankZero();
  StatusOr<int> KillAgent();
  StatusOr<int> KillCoordinator();
  StatusOr<int> KillAllRanks();

  StatusOr<v1::Run> Submit(int ranks);
  StatusOr<v1::Run> Await(const std::string& run,
                          const std::function<bool(const v1::Run&)>& condition);
  StatusOr<std::string> WeightsOf(const std::string& run);
  Status Forget(const std::string& run);
  int Draw(int least, int most);

  FaultService& service_;
  const FaultBenchOptions options_;
  const Clock& clock_;  // that of the workers, which are on this machine
  client::Interruption& interruption_;
  const std::function<void(const std::string&)> tell_;
  client::RunClient client_;
  std::mt19937_64 random_;
  std::string undisturbed_;  // the weights
  uint64_t checkpoint_bytes_ = 0;
  uint64_t gradient_bytes_ = 0;
  std::vector<double> delays_;  // of the row that is measured
};

}  // namespace gp::gpctl
