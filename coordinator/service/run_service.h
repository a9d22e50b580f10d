// RunService: the gRPC service for users. Every method checks and converts the request, calls the
// core, and converts the answer. Thread-safe. A waiting call holds no thread.
#pragma once

#include <string>

#include "base/clock.h"
#include "coordinator/checkpoints/checkpoint_verifier.h"
#include "coordinator/checkpoints/storage_root.h"
#include "coordinator/service/method_service.h"
#include "coordinator/service/quota/run_quota.h"
#include "coordinator/service/run_file_resolver.h"
#include "coordinator/service/run_streams.h"
#include "gp/v1/run_service.grpc.pb.h"

namespace gp::coordinator {

// Streams of this service that all callers together may have open at a time.
inline constexpr int kStreamsMax = 1024;
// The same for Curves alone, whose streams keep up to 9 MB each.
inline constexpr int kCurveStreamsMax = 32;

struct RunServiceOptions {
  std::string version;
  Policy policy;
  bool insecure = false;  // a port is served without TLS
  RunQuotaOptions quota;  // for each user
};

class RunService final : public MethodService<v1::RunService> {
 public:
  // Every reference must outlive this object.
  RunService(const ServiceContext& service, StreamContext context, CheckpointVerifier& verifier,
             const RunFileResolver& resolver, const StorageRoot& storage, Clock& clock,
             RunServiceOptions options);

 private:
  using SubmitCall = PooledCall<v1::SubmitRequest, v1::SubmitResponse>;
  using CancelCall = PooledCall<v1::CancelRequest, v1::Run>;
  using PauseCall = PooledCall<v1::PauseRequest, v1::Run>;
  using ResumeCall = PooledCall<v1::ResumeRequest, v1::Run>;
  using ContinueCall = PooledCall<v1::ContinueRequest, v1::ContinueResponse>;
  using AnnotateCall = PooledCall<v1::AnnotateRequest, v1::Run>;
  using RestoreCall = PooledCall<v1::RestoreCheckpointRequest, v1::Checkpoint>;

  // The run that the caller means, among the namespaces it may see. PermissionDenied if it may see
  // the run but lacks the method's role there.
  StatusOr<std::shared_ptr<const Run>> Find(AdmittedCall& access,
                                            const std::string& reference) const;
  // NotFound when the run was deleted meanwhile.
  Status Show(const RunId& run, v1::Run& to) const;

  // Makes a request for a run durable: `body` is the event, for a call whose request names a run
  // and has a request id.
  template <typename Call>
  void RequestOf(Call& call, EventBody body);
  void PrepareContinue(ContinueCall& call);
  Status PlanOnly(const Event& event, const Run& now, v1::ContinueResponse& response) const;
  StatusOr<std::shared_ptr<RunQuota::Place>> PlaceFor(const Run& run);
  // The cluster as it would be after the event and the plan that follows. Stores nothing.
  StatusOr<Cluster> ClusterAfter(const Event& event) const;
  // Blocks no thread of a lane while it waits: the verifier reads on its own thread.
  void Restore(RestoreCall& call);
  // The steps of a submit; each runs in its lane.
  void Prepare(SubmitCall& call);
  // `place`: reserved in the user's quota; null if the caller has no quota.
  void CheckStorage(SubmitCall& call, const Event& event,
                    const std::shared_ptr<RunQuota::Place>& place);
  // The run of a request that was answered already; null: it is a new one.
  std::shared_ptr<const Run> FindRepeated(const v1::SubmitRequest& request) const;
  void AnswerRepeated(SubmitCall& call, const Run& run) const;
  Status PlanOnly(const Event& event, v1::SubmitResponse& response) const;

  Status FillRun(AdmittedCall& access, const v1::GetRequest& request, v1::Run& response) const;
  // With the run files and the legs.
  Status FillWhole(const std::shared_ptr<const Run>& known, v1::Run& to) const;
  Status FillList(const AdmittedCall& access, const v1::ListRequest& request,
                  v1::ListResponse& response) const;
  Status FillCheckpoints(AdmittedCall& access, const v1::CheckpointsRequest& request,
                         v1::CheckpointsResponse& response) const;
  Status FillNodes(const AdmittedCall& access, v1::NodesResponse& response) const;
  v1::VersionResponse FillVersion() const;
  void OnQueries();
  void OnChanges();
  void OnStreams();
  template <typename Request, typename Response, typename MakeSource>
  void OnRunStream(const char* method, MakeSource make_source);

  StreamContext context_;
  WorkLanes& lanes_;
  CheckpointVerifier& verifier_;
  const RunFileResolver& resolver_;
  const StorageRoot& storage_;
  Clock& clock_;
  const RunServiceOptions options_;
  RunQuota quota_;
  StreamCount streams_{kStreamsMax, "streams"};
  StreamCount curve_streams_{kCurveStreamsMax, "streams of curves"};
};

}  // namespace gp::coordinator
