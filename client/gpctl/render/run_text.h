// Runs, events, log lines and checkpoints as text for people. Pure functions; thread-safe. `now` is
// seconds since 1970.
#pragma once

#include <string>
#include <vector>

#include "gp/v1/run.pb.h"

namespace gp::gpctl {

struct TextStyle {
  int width = 0;  // columns; 0: no limit
  bool utf8 = true;
  bool color = false;
  int height = 0;  // rows of the terminal; 0: no limit
};

bool AreOfSeveralNamespaces(const std::vector<v1::Run>& runs);

// Has a column for the namespace when the runs are of several namespaces, and one for the user when
// a run is not the owner's.
std::string RunTable(const std::vector<v1::Run>& runs, double now, const TextStyle& style);

// Context for a run's details.
struct DetailsContext {
  std::vector<v1::RunEvent> newest_events = {};
  std::string connection = {};  // how gpctl is connected to the coordinator, see ConnectionText
  std::string next = {};        // the commands to type next
};

// State, reason, progress, placement, newest numbers and the context.
std::string RunDetails(const v1::Run& run, const DetailsContext& context, double now,
                       const TextStyle& style);

// The command that fits the run's state, without the program's name: "watch mine"; "" for none.
std::string NextCommand(const v1::Run& run);

// One line, or more on a terminal that is too narrow for the reason.
std::string EventText(const v1::RunEvent& event, const TextStyle& style);
std::string LogLineText(const v1::LogLine& line, bool with_rank, const TextStyle& style);

// Prints whole paths if the output is not a terminal.
// REQUIRES: at least one checkpoint.
std::string CheckpointTable(const std::vector<v1::Checkpoint>& checkpoints, double now,
                            const TextStyle& style);
std::string CheckpointDetails(const v1::Checkpoint& checkpoint, double now);

// One line per step, in the style of llm.c, with "val 3.2958" and scores after the loss if they
// were measured:
//   step 7362/19073 | loss 3.2714 | norm 0.31 | lr 4.93e-04 | 323 ms | 55.6% mfu | 1.62M tok/s
// A narrow terminal gets fewer parts: learning rate, norm, time and MFU are left out in this order.
std::string StepLine(const v1::MetricPoint& point, int64_t target_steps, const TextStyle& style);

}  // namespace gp::gpctl
