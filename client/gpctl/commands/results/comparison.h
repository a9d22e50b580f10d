// Comparison: what differs between runs, in their run files and in their results. Built once; pure
// after that; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/api/key_difference.h"
#include "client/gpctl/commands/results/equal_place.h"
#include "client/gpctl/commands/results/paired_windows.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/session/named_runs.h"
#include "client/gpctl/terminal/table.h"

namespace gp::gpctl {

struct ComparedRun {
  NamedRun named;
  v1::CurvePoints loss;
  v1::CurvePoints validation;
};

// The newest checkpoints of two runs on the same windows.
struct PairedRuns {
  std::string first;  // "base@300"
  std::string second;
  PairedDifference paired;
};

class Comparison {
 public:
  // REQUIRES: at least two runs. Internal for a run file that is not YAML.
  static StatusOr<Comparison> Make(std::vector<ComparedRun> runs, std::vector<PairedRuns> paired);

  // A table with a column for each run; several, each with the first run, where the terminal is too
  // narrow for all of them; then sentences about what the differences show. `now`:
  // seconds since 1970.
  std::string Text(double now, const TextStyle& style) const;
  Json Fields(double now) const;

 private:
  // A value of each run; absent: the run has none.
  struct Row {
    std::string title;
    std::string key;  // in JSON; empty: left out
    std::vector<std::optional<double>> values;
  };
  // Runs that differ only in the seed.
  struct Repeats {
    std::vector<size_t> runs;
    double mean = 0;       // of the last validation losses
    double deviation = 0;  // their standard deviation; of 2 or more
  };

  Comparison(std::vector<ComparedRun> runs, std::vector<PairedRuns> paired,
             std::vector<client::KeyDifference> keys);

  Table TableOf(const std::vector<size_t>& shown, double now, bool utf8) const;
  // The runs of each table.
  std::vector<std::vector<size_t>> Blocks(double now, const TextStyle& style) const;
  std::vector<const v1::CurvePoints*> Losses() const;
  std::vector<const v1::CurvePoints*> Validations() const;
  std::vector<Row> RowsAtEqualPlaces() const;
  void AddRowsAt(AxisKind kind, std::vector<Row>& rows) const;
  bool StepsHaveEqualTokens() const;
  // The keys that make the runs' evaluations use different windows.
  std::vector<std::string> WindowKeys() const;
  std::vector<Repeats> FindRepeats() const;
  std::vector<std::string> Sentences(double now) const;
  std::string WindowSentence() const;
  std::string SeedSentence() const;
  void AddPairedSentences(std::vector<std::string>& sentences) const;
  std::string Label(size_t run) const { return runs_[run].named.label; }

  std::vector<ComparedRun> runs_;
  std::vector<PairedRuns> paired_;
  std::vector<client::KeyDifference> keys_;  // without names and labels
};

}  // namespace gp::gpctl
