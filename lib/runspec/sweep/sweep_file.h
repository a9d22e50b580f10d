// Reads sweep files: the run file that a sweep varies, the keys and values that it varies, how many
// trials run at a time, and when losers are stopped. Every value of a varied key is checked against
// the schema of run files. Reports all problems at once, each with its place. Does no I/O. Pure
// functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_problem.h"

namespace gp::runspec {

// The most trials of a sweep. Each is checked when the sweep is submitted.
inline constexpr uint64_t kSweepTrialsMax = 1000;

struct SweepRange {
  double min = 0;
  double max = 0;
  bool log = false;    // drawn evenly in the logarithm
  bool whole = false;  // the key takes whole numbers
};

// A key of the run file that the sweep varies: its values, or a range to draw from.
struct SweptKey {
  std::string path;
  int line = 0;                     // of the sweep file
  std::vector<std::string> values;  // as after --set path=; empty: `range` is set
  std::optional<SweepRange> range;
};

struct SweepFile {
  std::string name;
  std::string run_path;  // of the run file; empty: it is in `run_text`
  // The run file inside the sweep file, on the lines and columns that it has there.
  std::string run_text;
  std::vector<SweptKey> grid;  // every combination of their values
  std::vector<SweptKey> random;
  int64_t random_trials = 0;  // combinations that are drawn
  uint64_t random_seed = 1;
  std::vector<std::string> seeds;  // each combination is repeated with these; empty: not repeated
  int max_parallel = 4;
  std::string early_stop = "none";  // none | median | halving
  int64_t min_steps = 0;
  int eta = 3;
};

struct SweepFileResult {
  std::optional<SweepFile> file;  // absent when there are problems
  std::vector<ConfigProblem> problems;
};

// `source_name` is the file's name as the user gave it.
SweepFileResult ReadSweepFile(std::string_view text, const std::string& source_name);

}  // namespace gp::runspec
