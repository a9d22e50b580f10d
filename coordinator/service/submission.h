// From a SubmitRequest to the event that makes a run. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/service/run_file_resolver.h"
#include "coordinator/state/event.h"
#include "coordinator/storage_root.h"
#include "gp/v1/run_service.pb.h"

namespace gp::coordinator {

struct PreparedSubmit {
  Event event;  // RunSubmitted of a fresh run id
  std::vector<std::string> warnings;
};

// InvalidArgument carries every problem of the request and its run file.
StatusOr<PreparedSubmit> PrepareSubmit(const v1::SubmitRequest& request,
                                       const RunFileResolver& resolver, const StorageRoot& storage);

// SHA-256 in hex of what a repeated request must repeat.
std::string BodyDigest(const v1::SubmitRequest& request);

}  // namespace gp::coordinator
