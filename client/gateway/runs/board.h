// Board: a snapshot of the coordinator's runs and workers. Immutable once published; read by any
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/api/sample_line.h"
#include "client/gateway/models/served_checkpoint.h"
#include "gp/v1/run.pb.h"

namespace gp::gateway {

using client::Sample;

// What the page of one run shows besides its points.
struct RunDetails {
  v1::Run run;                              // with its resolved run file
  std::vector<v1::Checkpoint> checkpoints;  // sealed ones, oldest first, then quarantined ones
  std::deque<v1::RunEvent> events;          // oldest first, the newest 500
  std::deque<Sample> samples;               // newest last, 50 at most
  uint64_t version = 0;                     // grows with each change
};

struct Board {
  std::string address;  // the coordinator's; empty: the gateway has no coordinator
  bool connected = false;
  std::string message;  // why it is not connected; empty when it is
  // The first 100 of the coordinator's list: started and not ended, then waiting, then ended; in
  // each group the newest submit first.
  std::vector<v1::Run> runs;
  bool has_all_runs = false;     // the list was complete
  std::optional<int64_t> total;  // number of all runs; absent: not reported by the coordinator
  std::map<v1::RunState, int64_t> counts;  // of all runs
  std::map<std::string, v1::Run> others;   // by run id; runs that pages show but not in `runs`
  std::vector<v1::Node> nodes;
  std::map<std::string, std::shared_ptr<const RunDetails>> details;  // by run id; for followed runs
  // Runs with sealed checkpoints, oldest first; latest submit first, at most RunSurvey::kRunsMax.
  std::vector<ServedRun> sealed;
  bool sealed_complete = false;  // the checkpoints of every run with some have been fetched
  // The documents of /api/v1/runs and /api/v1/workers.
  std::shared_ptr<const std::string> runs_text = std::make_shared<const std::string>();
  std::shared_ptr<const std::string> workers_text = std::make_shared<const std::string>();
  // Each grows when that part has changed.
  uint64_t runs_version = 0;
  uint64_t workers_version = 0;
  uint64_t sealed_version = 0;
};

// Seconds since 1970.
double UnixSeconds(const google::protobuf::Timestamp& time);

// The run with this id among `runs` and `others`, else the one of that name there that was
// submitted last, or null. A newer run of that name may exist unless the board has all runs.
const v1::Run* FindRun(const Board& board, const std::string& reference);

}  // namespace gp::gateway
