// A run file from a configuration of nanoGPT: config/*.py, or the settings at the beginning of
// train.py. Keys that the file does not set have the defaults of nanoGPT's train.py. Reads the disk
// to find the data; used by gpctl's main thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

struct NanogptConfig {
  std::string path;  // as the user gave it, for messages
  std::string text;
  std::vector<std::string> overrides;  // "batch_size=12", as nanoGPT's --batch_size=12
};

struct NanogptRunFile {
  std::string text;
  int settings = 0;  // of nanoGPT's keys, in the file and the overrides
  // Settings without a counterpart in a run file, each with its place and the reason.
  std::vector<std::string> notes;
  // Statements that were left out, and what is missing before the run can train.
  std::vector<std::string> warnings;
  bool can_train = true;  // its data and weights are there
};

// InvalidArgument names every setting that cannot be translated, with its line, and an override
// that nanoGPT would refuse.
StatusOr<NanogptRunFile> RunFileOfNanogpt(const NanogptConfig& config, const Console& console);

}  // namespace gp::gpctl
