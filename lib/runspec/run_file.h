// Reads run files: preset, then shape and tokenizer of the model in init_from, then the file, then
// --set overrides; later ones win. Then cross checks. Reports all problems at once (at most 100),
// each with its place and a hint. Does no I/O itself; only LoadOptions::find_initial_model may read
// files. Only the training machine can check that the data exists. Pure functions; thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_problem.h"
#include "base/status.h"
#include "plan/run_spec.h"
#include "runspec/initial_model.h"

namespace gp::runspec {

// A run file as the user gave it.
struct RunFileText {
  std::string text;
  std::string name;       // for messages
  std::string directory;  // relative data paths start here
};

// Returns the names of the notification targets that runs of this namespace may name.
using FindNotifyTargets = std::function<std::vector<std::string>(const std::string& run_namespace)>;

struct LoadOptions {
  // Relative paths start here: those in the file, and those in --set. Empty: they stay relative.
  std::string base_directory;
  std::string override_directory;
  // By override, where it is from, such as "my.env:3". Empty, or fewer than overrides: "--set KEY".
  std::vector<std::string> override_sources;
  // Absent: init_from stays as it is written, and its model is not read.
  FindInitialModel find_initial_model;
  // Absent: any target may be named in `notify`.
  FindNotifyTargets find_notify_targets;
};

struct RunFileResult {
  std::optional<RunSpec> spec;  // absent when there are problems
  std::vector<ConfigProblem> problems;
  std::vector<ConfigProblem> warnings;
};

// `source_name` is the file's name as the user gave it. Each override is "path=value".
RunFileResult LoadRunFile(std::string_view text, const std::string& source_name,
                          const std::vector<std::string>& overrides = {},
                          const LoadOptions& options = {});

// Every key with its value, as a run file ("preset" only if it is set). Loading it again gives an
// equal RunSpec; the programs send this form to each other, and a run's directory stores it.
std::string ResolvedYaml(const RunSpec& spec);

// Sets a model.vocab of auto to the tokenizer's number of ids, and computes the padded size.
// InvalidArgument when the file fixed a vocab that is smaller.
Status ApplyVocabulary(int64_t tokenizer_vocabulary, RunSpec& spec);

}  // namespace gp::runspec
