// Converts a SubmitRequest into the event that makes a run. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/checkpoints/storage_root.h"
#include "coordinator/service/run_file_resolver.h"
#include "coordinator/state/cluster.h"
#include "gp/v1/run_service.pb.h"

namespace gp::coordinator {

struct PreparedSubmit {
  Event event;  // RunSubmitted of a fresh run id; its actor is the caller's to fill in
  std::vector<std::string> warnings;
  std::vector<runspec::NamedFile> files;  // files that the run names; not checked yet
};

// `of_owner`: the caller used the coordinator's Unix socket; only then do relative paths start at
// the request's base_directory. InvalidArgument carries every problem of the request and its run
// file. AlreadyExists when the name in the request is taken; a taken name in a run file gets a
// number, with a warning.
StatusOr<PreparedSubmit> PrepareSubmit(const v1::SubmitRequest& request, bool of_owner,
                                       const RunFileResolver& resolver, const StorageRoot& storage,
                                       const Cluster& cluster);

// ResourceExhausted when there are too many runs that have not ended: each is kept in memory.
Status CheckRoom(const Cluster& cluster);

// SHA-256, in hex, of the fields that must be equal in a repeated request.
std::string BodyDigest(const v1::SubmitRequest& request);

}  // namespace gp::coordinator
