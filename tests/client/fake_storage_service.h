// FakeStorageService: a StorageService that answers with data set by a test. FakeRunService serves
// it. Deletions and prunes answer with their plans; what was really asked for is recorded. Fields
// may be set before a call; gRPC's threads read them under the lock.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "gp/v1/storage_service.grpc.pb.h"

namespace gp::testing {

class FakeStorageService final : public v1::StorageService::Service {
 public:
  // The answer for the run with this name or id.
  void SetDeletion(const v1::DeleteRunResponse& deletion);
  void SetPrune(const v1::PruneCheckpointsResponse& prune);
  void SetUsage(const v1::DiskUsageResponse& usage);
  // The runs that were deleted, by id, in order; dry runs do not count.
  std::vector<std::string> deleted() const;
  // The newest prune that was no dry run.
  v1::PruneCheckpointsRequest last_prune() const;
  v1::PinCheckpointRequest last_pin() const;

  grpc::Status DeleteRun(grpc::ServerContext*, const v1::DeleteRunRequest*,
                         v1::DeleteRunResponse*) override;
  grpc::Status PruneCheckpoints(grpc::ServerContext*, const v1::PruneCheckpointsRequest*,
                                v1::PruneCheckpointsResponse*) override;
  grpc::Status PinCheckpoint(grpc::ServerContext*, const v1::PinCheckpointRequest*,
                             v1::Checkpoint*) override;
  grpc::Status DiskUsage(grpc::ServerContext*, const v1::DiskUsageRequest*,
                         v1::DiskUsageResponse*) override;

 private:
  mutable Mutex mutex_;
  std::vector<v1::DeleteRunResponse> deletions_ GUARDED_BY(mutex_);
  std::vector<std::string> deleted_ GUARDED_BY(mutex_);
  v1::PruneCheckpointsResponse prune_ GUARDED_BY(mutex_);
  v1::PruneCheckpointsRequest last_prune_ GUARDED_BY(mutex_);
  v1::PinCheckpointRequest last_pin_ GUARDED_BY(mutex_);
  v1::DiskUsageResponse usage_ GUARDED_BY(mutex_);
};

}  // namespace gp::testing
