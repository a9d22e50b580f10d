// RunService: the gRPC service for users. Every method checks and converts the request, asks the
// core, and converts the answer. Thread-safe. A call that waits takes no thread. gRPC's threads
// only deliver requests as bytes; the lanes' threads parse and answer them. Only Version is
// answered on gRPC's thread.
#pragma once

#include <string>

#include "base/clock.h"
#include "coordinator/access/access_gate.h"
#include "coordinator/checkpoints/checkpoint_verifier.h"
#include "coordinator/checkpoints/storage_root.h"
#include "coordinator/control/change_hub.h"
#include "coordinator/service/pooled_call.h"
#include "coordinator/service/run_file_resolver.h"
#include "coordinator/service/run_quota.h"
#include "coordinator/service/run_streams.h"
#include "coordinator/service/work_lanes.h"
#include "gp/v1/run_service.grpc.pb.h"

namespace gp::coordinator {

// Streams that all users together may have open at a time.
inline constexpr int kStreamsMax = 1024;

struct RunServiceOptions {
  std::string version;
  std::string revision;
  Policy policy;
  bool insecure = false;  // a port is served without TLS
  RunQuotaOptions quota;  // of each user
};

// The service with every method as bytes.
using RunServiceOfBytes = v1::RunService::WithRawCallbackMethod_Submit<
    v1::RunService::WithRawCallbackMethod_Get<v1::RunService::WithRawCallbackMethod_List<
        v1::RunService::WithRawCallbackMethod_Cancel<v1::RunService::WithRawCallbackMethod_Watch<
            v1::RunService::WithRawCallbackMethod_Logs<v1::RunService::WithRawCallbackMethod_Events<
                v1::RunService::WithRawCallbackMethod_Metrics<
                    v1::RunService::WithRawCallbackMethod_Checkpoints<
                        v1::RunService::WithRawCallbackMethod_RestoreCheckpoint<
                            v1::RunService::WithRawCallbackMethod_Nodes<
                                v1::RunService::WithRawCallbackMethod_Version<
                                    v1::RunService::Service>>>>>>>>>>>>;

class RunService final : public RunServiceOfBytes {
 public:
  // Every reference outlives the service.
  RunService(AccessGate& gate, StreamContext context, ChangeHub& hub, WorkLanes& lanes,
             CheckpointVerifier& verifier, const RunFileResolver& resolver,
             const StorageRoot& storage, Clock& clock, RunServiceOptions options)
      : gate_(gate),
        context_(context),
        hub_(hub),
        lanes_(lanes),
        verifier_(verifier),
        resolver_(resolver),
        storage_(storage),
        clock_(clock),
        options_(std::move(options)),
        quota_(options_.quota) {}

  grpc::ServerUnaryReactor* Submit(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Cancel(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Checkpoints(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* RestoreCheckpoint(grpc::CallbackServerContext* context,
                                              const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Nodes(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Version(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Logs(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Events(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Metrics(grpc::CallbackServerContext* context,
                                                      const grpc::ByteBuffer* request) override;

 private:
  using SubmitCall = PooledCall<v1::SubmitRequest, v1::SubmitResponse>;

  // The run that the caller means, among those whose namespace it may look into. PermissionDenied
  // when it may look but lacks the method's role there.
  StatusOr<std::shared_ptr<const Run>> Find(AdmittedCall& access,
                                            const std::string& reference) const;
  v1::Run Show(const RunId& run) const;

  // The steps of a submit; each runs in its lane.
  void Prepare(SubmitCall& call);
  // `place` is the user's in the quota, or null.
  void CheckStorage(SubmitCall& call, const Event& event,
                    const std::shared_ptr<RunQuota::Place>& place);
  // The run of a request that was answered already; null: it is a new one.
  std::shared_ptr<const Run> FindRepeated(const v1::SubmitRequest& request) const;
  void AnswerRepeated(SubmitCall& call, const Run& run) const;
  Status PlanOnly(const Event& event, v1::SubmitResponse& response) const;

  Status FillList(const AdmittedCall& access, const v1::ListRequest& request,
                  v1::ListResponse& response) const;
  Status FillCheckpoints(AdmittedCall& access, const v1::CheckpointsRequest& request,
                         v1::CheckpointsResponse& response) const;
  Status FillNodes(const AdmittedCall& access, v1::NodesResponse& response) const;
  Handling QueryHandling(std::string_view method) {
    return {gate_, method, lanes_.queries, kRequestBytesMax};
  }
  template <typename Request, typename Response, typename Fill>
  grpc::ServerUnaryReactor* Query(std::string_view method, grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request, grpc::ByteBuffer* response,
                                  Fill fill);
  template <typename Request, typename Response, typename MakeSource>
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Stream(std::string_view method,
                                                     grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request,
                                                     MakeSource make_source);

  AccessGate& gate_;
  StreamContext context_;
  ChangeHub& hub_;
  WorkLanes& lanes_;
  CheckpointVerifier& verifier_;
  const RunFileResolver& resolver_;
  const StorageRoot& storage_;
  Clock& clock_;
  const RunServiceOptions options_;
  RunQuota quota_;
  StreamCount streams_{kStreamsMax};
};

}  // namespace gp::coordinator
