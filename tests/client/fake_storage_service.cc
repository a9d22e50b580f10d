#include "client/fake_storage_service.h"

#include <algorithm>

namespace gp::testing {

void FakeStorageService::SetDeletion(const v1::DeleteRunResponse& deletion) {
  MutexLock lock(mutex_);
  deletions_.push_back(deletion);
}

void FakeStorageService::SetPrune(const v1::PruneCheckpointsResponse& prune) {
  MutexLock lock(mutex_);
  prune_ = prune;
}

void FakeStorageService::SetUsage(const v1::DiskUsageResponse& usage) {
  MutexLock lock(mutex_);
  usage_ = usage;
}

std::vector<std::string> FakeStorageService::deleted() const {
  MutexLock lock(mutex_);
  return deleted_;
}

v1::PruneCheckpointsRequest FakeStorageService::last_prune() const {
  MutexLock lock(mutex_);
  return last_prune_;
}

v1::PinCheckpointRequest FakeStorageService::last_pin() const {
  MutexLock lock(mutex_);
  return last_pin_;
}

grpc::Status FakeStorageService::DeleteRun(grpc::ServerContext*,
                                           const v1::DeleteRunRequest* request,
                                           v1::DeleteRunResponse* response) {
  MutexLock lock(mutex_);
  for (const v1::DeleteRunResponse& one : deletions_) {
    if (request->run() != one.run_id() && request->run() != one.run_name()) continue;
    *response = one;
    if (!request->dry_run()) deleted_.push_back(one.run_id());
    return grpc::Status::OK;
  }
  return {grpc::StatusCode::NOT_FOUND, "run '" + request->run() + "' does not exist"};
}

grpc::Status FakeStorageService::PruneCheckpoints(grpc::ServerContext*,
                                                  const v1::PruneCheckpointsRequest* request,
                                                  v1::PruneCheckpointsResponse* response) {
  MutexLock lock(mutex_);
  *response = prune_;
  if (!request->dry_run()) last_prune_ = *request;
  return grpc::Status::OK;
}

grpc::Status FakeStorageService::PinCheckpoint(grpc::ServerContext*,
                                               const v1::PinCheckpointRequest* request,
                                               v1::Checkpoint* response) {
  MutexLock lock(mutex_);
  last_pin_ = *request;
  response->set_run_id(request->run());
  response->set_step(request->step());
  response->set_pinned(request->pinned());
  return grpc::Status::OK;
}

grpc::Status FakeStorageService::DiskUsage(grpc::ServerContext*,
                                           const v1::DiskUsageRequest* request,
                                           v1::DiskUsageResponse* response) {
  MutexLock lock(mutex_);
  *response = usage_;
  if (request->runs().empty()) return grpc::Status::OK;
  response->clear_runs();
  for (const std::string& wanted : request->runs()) {
    const auto found = std::find_if(
        usage_.runs().begin(), usage_.runs().end(),
        [&](const auto& one) { return wanted == one.run_id() || wanted == one.run_name(); });
    if (found == usage_.runs().end()) {
      return {grpc::StatusCode::NOT_FOUND, "run '" + wanted + "' does not exist"};
    }
    *response->add_runs() = *found;
  }
  return grpc::Status::OK;
}

}  // namespace gp::testing
