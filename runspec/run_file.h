// Reads run files: preset, then the file, then --set overrides, then cross checks. Finds every
// problem at once, each with its place and a way out. Does no I/O: whether the data exists is known
// where the run trains. Pure functions; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_problem.h"
#include "base/status.h"
#include "runspec/run_spec.h"

namespace gp::runspec {

// A run file as somebody gave it.
struct RunFileText {
  std::string text;
  std::string name;       // for messages
  std::string directory;  // relative data paths start here
};

struct LoadOptions {
  // Where relative data paths start: those written in the file, and those given by --set. Empty:
  // they stay as they are.
  std::string base_directory;
  std::string override_directory;
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

// Every key with its value, as a run file. Loading it again gives an equal RunSpec; this is what
// travels between the programs and what a run's directory keeps.
std::string ResolvedYaml(const RunSpec& spec);

// Puts the tokenizer's number of ids into a model whose vocab is auto, and sets the padded number.
// InvalidArgument when the file fixed a vocab that is smaller.
Status ApplyVocabulary(int64_t tokenizer_vocabulary, RunSpec& spec);

}  // namespace gp::runspec
