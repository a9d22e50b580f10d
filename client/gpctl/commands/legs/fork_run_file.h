// The run file of a fork: that of its parent's leg, with what the user changes. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/api/key_difference.h"
#include "client/gpctl/session/fork_source.h"
#include "client/gpctl/session/run_file_text.h"
#include "plan/run_spec.h"
#include "plan/training_start.h"

namespace gp::gpctl {

struct ForkRequest {
  std::vector<std::string> overrides;  // of --set
  std::string name;
  std::string steps;   // the total, or +N after the checkpoint; empty: the parent's budget
  std::string tokens;  // the same
  bool reset_optimizer = false;
  bool reset_data = false;
};

struct ForkRunFile {
  RunFileText file;                    // the parent's run file
  std::vector<std::string> overrides;  // the user's overrides, and those that make the run a fork
  runspec::RunSpec parent;
  runspec::RunSpec spec;  // the fork's run file, before the checkpoint's model sets its shape
  runspec::TrainingStart start;  // where its counters begin
  std::vector<client::KeyDifference> changes;
  std::string why_data_reset;  // "data.text changes"; empty: the position in the data is kept
};

// A change of the data or the seed resets the position in the data. A new budget keeps the end of
// the parent's schedule unless an override sets its decay. InvalidArgument: every problem of the
// run file; a change of the model or the tokenizer; no steps are left (`command`, such as "gpctl
// fork", begins the command that gives more).
StatusOr<ForkRunFile> MakeForkRunFile(const ForkSource& source, const ForkRequest& request,
                                      const std::string& command);

}  // namespace gp::gpctl
