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
  Event event;  // RunSubmitted of a new random run id; the caller fills in actor and data_seen
  std::vector<std::string> warnings;
  std::vector<runspec::NamedFile> files;  // files that the run names; not checked yet
};

// `of_owner`: the caller used the coordinator's Unix socket; only then do relative paths start at
// the request's base_directory. InvalidArgument carries the first problem of the request, or every
// problem of its run file. AlreadyExists when the name in the request is taken; a taken name in a
// run file gets a number, with a warning. `store`: as in FindParent.
StatusOr<PreparedSubmit> PrepareSubmit(const v1::SubmitRequest& request, bool of_owner,
                                       const RunFileResolver& resolver, const StorageRoot& storage,
                                       const Cluster& cluster, Store& store);

// InvalidArgument when the id is empty or too long. `what`: "submit".
Status CheckRequestId(const std::string& request_id, const char* what);

// InvalidArgument when there are too many overrides, or one is too long.
Status CheckOverrides(const google::protobuf::RepeatedPtrField<std::string>& overrides);

// ResourceExhausted when 20,000 runs, or runs with 256 MiB of run files, have not ended.
Status CheckRoom(const Cluster& cluster);

// SHA-256, in hex, of the fields that must be equal in a repeated request: all except request_id
// and source_name.
std::string BodyDigest(const v1::SubmitRequest& request);

}  // namespace gp::coordinator
