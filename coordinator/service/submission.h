// From a SubmitRequest to the event that makes a run. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/service/run_file_resolver.h"
#include "coordinator/state/cluster.h"
#include "coordinator/storage_root.h"
#include "gp/v1/run_service.pb.h"

namespace gp::coordinator {

// A run file of the longest kind with its overrides; what is longer is refused before it is parsed.
inline constexpr size_t kSubmitBytesMax = (1 << 20) + (256 << 10);

struct PreparedSubmit {
  Event event;  // RunSubmitted of a fresh run id
  std::vector<std::string> warnings;
};

// InvalidArgument carries every problem of the request and its run file.
StatusOr<PreparedSubmit> PrepareSubmit(const v1::SubmitRequest& request,
                                       const RunFileResolver& resolver, const StorageRoot& storage);

// ResourceExhausted when the runs that have not ended yet fill the memory that is meant for them.
Status CheckRoom(const Cluster& cluster);

// SHA-256 in hex of what a repeated request must repeat.
std::string BodyDigest(const v1::SubmitRequest& request);

}  // namespace gp::coordinator
