// StorageService: the gRPC service that shows what runs occupy in the storage, and frees it.
// Thread-safe. Every method finds its run on its lane, measures files on the usage lane, and
// makes its decision durable through the Reconciler; RunDirectories deletes the files afterwards.
#pragma once

#include <map>
#include <string>

#include "coordinator/checkpoints/storage_root.h"
#include "coordinator/control/reconciler.h"
#include "coordinator/service/method_service.h"
#include "coordinator/telemetry/recorder.h"
#include "gp/v1/storage_service.grpc.pb.h"
#include "storage/storage.h"

namespace gp::coordinator {

class StorageService final : public MethodService<v1::StorageService> {
 public:
  // Every reference must outlive this object.
  StorageService(const ServiceContext& context, Reconciler& reconciler, const Recorder& recorder,
                 const Storage& files, const StorageRoot& root);

 private:
  using DeleteCall = PooledCall<v1::DeleteRunRequest, v1::DeleteRunResponse>;
  using PruneCall = PooledCall<v1::PruneCheckpointsRequest, v1::PruneCheckpointsResponse>;
  using PinCall = PooledCall<v1::PinCheckpointRequest, v1::Checkpoint>;
  using UsageCall = PooledCall<v1::DiskUsageRequest, v1::DiskUsageResponse>;

  void Delete(DeleteCall& call);
  // Whether the call repeats a deletion that was made; answers it.
  bool AnswerRepeated(DeleteCall& call);
  // The last step: measures the run's files and deletes it, unless it is a dry run.
  void MeasureAndDelete(DeleteCall& call, Event event);
  void Prune(PruneCall& call);
  void MeasureAndPrune(PruneCall& call, const Event& event, const Run& run);
  void Pin(PinCall& call);
  void Measure(UsageCall& call);
  using Usages = std::map<RunId, v1::RunDiskUsage>;
  void AddUsage(const Run& run, Usages& to) const;
  void AddUsage(const DeletedRun& run, Usages& to) const;
  void AddAll(UsageCall& call, const Cluster& cluster, Usages& to) const;
  // Adds the runs that the request names.
  Status AddNamed(UsageCall& call, const Cluster& cluster, Usages& to) const;
  Status FillUsage(UsageCall& call, v1::DiskUsageResponse& response) const;

  Reconciler& reconciler_;
  const Recorder& recorder_;
  const Storage& files_;
  const StorageRoot& root_;
  WorkLanes& lanes_;
};

}  // namespace gp::coordinator
