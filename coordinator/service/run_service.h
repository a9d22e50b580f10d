// RunService: the users' door. Every method checks, converts, asks the core and converts back.
// Thread-safe; takes no thread for a call that waits.
#pragma once

#include <string>

#include "base/clock.h"
#include "coordinator/change_hub.h"
#include "coordinator/service/run_file_resolver.h"
#include "coordinator/service/run_streams.h"
#include "coordinator/storage_root.h"
#include "gp/v1/run_service.grpc.pb.h"

namespace gp::coordinator {

struct RunServiceOptions {
  std::string version;
  std::string revision;
  Policy policy;
};

class RunService final : public v1::RunService::CallbackService {
 public:
  // Every reference outlives the service.
  RunService(StreamContext context, ChangeHub& hub, const RunFileResolver& resolver,
             const StorageRoot& storage, Clock& clock, RunServiceOptions options)
      : context_(context),
        hub_(hub),
        resolver_(resolver),
        storage_(storage),
        clock_(clock),
        options_(std::move(options)) {}

  grpc::ServerUnaryReactor* Submit(grpc::CallbackServerContext* call,
                                   const v1::SubmitRequest* request,
                                   v1::SubmitResponse* response) override;
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* call, const v1::GetRequest* request,
                                v1::Run* response) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* call, const v1::ListRequest* request,
                                 v1::ListResponse* response) override;
  grpc::ServerUnaryReactor* Cancel(grpc::CallbackServerContext* call,
                                   const v1::CancelRequest* request, v1::Run* response) override;
  grpc::ServerUnaryReactor* Checkpoints(grpc::CallbackServerContext* call,
                                        const v1::CheckpointsRequest* request,
                                        v1::CheckpointsResponse* response) override;
  grpc::ServerUnaryReactor* Nodes(grpc::CallbackServerContext* call,
                                  const v1::NodesRequest* request,
                                  v1::NodesResponse* response) override;
  grpc::ServerUnaryReactor* Version(grpc::CallbackServerContext* call,
                                    const v1::VersionRequest* request,
                                    v1::VersionResponse* response) override;

  grpc::ServerWriteReactor<v1::WatchResponse>* Watch(grpc::CallbackServerContext* call,
                                                     const v1::WatchRequest* request) override;
  grpc::ServerWriteReactor<v1::LogLine>* Logs(grpc::CallbackServerContext* call,
                                              const v1::LogsRequest* request) override;
  grpc::ServerWriteReactor<v1::RunEvent>* Events(grpc::CallbackServerContext* call,
                                                 const v1::EventsRequest* request) override;
  grpc::ServerWriteReactor<v1::MetricPoint>* Metrics(grpc::CallbackServerContext* call,
                                                     const v1::MetricsRequest* request) override;

 private:
  StatusOr<std::shared_ptr<const Run>> Find(const std::string& reference) const;
  v1::Run Show(const RunId& run) const;
  bool AnswerRepeated(const v1::SubmitRequest& request, v1::SubmitResponse& response) const;
  Status PlanOnly(const Event& event, v1::SubmitResponse& response) const;

  StreamContext context_;
  ChangeHub& hub_;
  const RunFileResolver& resolver_;
  const StorageRoot& storage_;
  Clock& clock_;
  const RunServiceOptions options_;
};

}  // namespace gp::coordinator
