// StreamReport: what a run's data.stream names, looked at before the run: whether it is there and
// can be read, and about how many tokens it holds. Reads the disk; any thread may call.
#pragma once

#include "base/status.h"
#include "plan/run_spec.h"
#include "tokenizer/data/data_report.h"

namespace gp::corpus {

// Reads the beginning, as far as `limits.encoded_bytes`, and what data.val names likewise. Errors
// name the key, the file, the place and the way out. REQUIRES: data.stream is not empty.
StatusOr<DataReport> InspectStream(const runspec::RunSpec& spec,
                                   const InspectionLimits& limits = {});

}  // namespace gp::corpus
