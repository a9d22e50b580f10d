// DataCheck: a run's data as this machine sees it. What is wrong with it refuses the run where the
// run would train here, and warns where other machines may have other files. Reads the disk.
#pragma once

#include <optional>
#include <string>

#include "runspec/run_spec.h"
#include "tokenizer/data_report.h"

namespace gp::gpctl {

struct DataCheck {
  std::optional<DataReport> report;  // absent when there is a problem
  std::string problem;               // one sentence with the way out; empty: none
  bool refused = false;              // because of it the run cannot train
};

// `server` is the service that would train: HOST:PORT, unix:PATH, or empty when none is known.
// A service on TCP may have workers on other machines, with files that are not here. One on a Unix
// socket, or one still to be started, has not.
DataCheck CheckData(const runspec::RunSpec& spec, const std::string& server);

// Puts what the data says into a spec whose model.vocab is auto, so that a plan has its number.
void SettleVocabulary(const DataReport& report, runspec::RunSpec& spec);

}  // namespace gp::gpctl
