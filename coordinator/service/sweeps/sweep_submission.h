// Converts a SubmitSweepRequest into the event that makes a sweep. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/checkpoints/storage_root.h"
#include "coordinator/service/run_file_resolver.h"
#include "coordinator/state/cluster.h"
#include "coordinator/store/store.h"
#include "gp/v1/sweep_service.pb.h"

namespace gp::coordinator {

// The parts that prepare a run or a sweep.
struct SubmissionContext {
  const RunFileResolver& resolver;
  const StorageRoot& storage;
  Store& store;
};

struct PreparedSweep {
  SweepSpec spec;
  std::vector<std::string> warnings;      // each once
  std::vector<runspec::NamedFile> files;  // files that trials name, each once; not checked yet
};

// Resolves the run file of every trial, so that each is known to be valid. `of_owner`: as in
// PrepareSubmit. InvalidArgument carries every located problem of the sweep file; if it has none,
// those of the first trials that are refused.
StatusOr<PreparedSweep> PrepareSweep(const v1::SubmitSweepRequest& request, bool of_owner,
                                     const Cluster& cluster, const SubmissionContext& context);

// SHA-256, in hex, of the fields that must be equal in a repeated request.
std::string BodyDigest(const v1::SubmitSweepRequest& request);

}  // namespace gp::coordinator
