// StreamReport: a check of a run's data.stream before the run: whether it exists and can be read,
// and about how many tokens it holds. Reads the disk; any thread may call.
#pragma once

#include "base/status.h"
#include "plan/run_spec.h"
#include "tokenizer/data/data_report.h"

namespace gp::corpus {

// Reads the beginning, up to `limits.encoded_bytes`, and likewise for data.val. Errors name the
// key, the file, the place and a fix. REQUIRES: data.stream is not empty.
StatusOr<DataReport> InspectStream(const runspec::RunSpec& spec,
                                   const InspectionLimits& limits = {});

}  // namespace gp::corpus
