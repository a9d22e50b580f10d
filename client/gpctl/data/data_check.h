// DataCheck: checks a run's data, and the files of eval.tasks, on this machine. A problem refuses
// the run when it would train here, or when the data itself is unsuitable and the service's address
// is on this machine. When other machines may have other files, it is only a warning. Reads the
// disk.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/run_spec.h"
#include "tokenizer/data/data_report.h"

namespace gp::gpctl {

struct DataCheck {
  std::optional<DataReport> report;  // absent when there is a problem
  std::string problem;               // one sentence with the fix; empty: none
  bool refused = false;              // gpctl does not submit the run because of the problem
};

// `server` is the service that would train: HOST:PORT, unix:PATH, or empty if unknown. A service on
// TCP may have workers on other machines, with other files. A service on a Unix socket, or one that
// is not started yet, has its workers here.
DataCheck CheckData(const runspec::RunSpec& spec, const std::string& server);

// What a user should know before the run: the report's warnings, or the problem.
std::vector<std::string> WarningsOf(const DataCheck& check);

// Sets a model.vocab of auto to the data's number of ids, so that a plan can be made. REQUIRES: the
// report is of this run.
void ResolveVocabulary(const DataReport& report, runspec::RunSpec& spec);

}  // namespace gp::gpctl
