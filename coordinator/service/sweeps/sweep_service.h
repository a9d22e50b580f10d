// SweepService: the gRPC service for sweeps. Submits are checked on the lane of submits; the
// Reconciler makes each change durable. Thread-safe.
#pragma once

#include <string>

#include "coordinator/control/reconciler.h"
#include "coordinator/service/method_service.h"
#include "coordinator/service/quota/sweep_quota.h"
#include "coordinator/service/sweeps/sweep_submission.h"
#include "coordinator/telemetry/recorder.h"
#include "gp/v1/sweep_service.grpc.pb.h"

namespace gp::coordinator {

class SweepService final : public MethodService<v1::SweepService> {
 public:
  // Every reference must outlive this object.
  SweepService(const ServiceContext& service, Reconciler& reconciler, const Recorder& recorder,
               const SubmissionContext& submission, const RunQuotaOptions& quota);

 private:
  using SubmitCall = PooledCall<v1::SubmitSweepRequest, v1::SubmitSweepResponse>;
  using CancelCall = PooledCall<v1::CancelSweepRequest, v1::Sweep>;

  // The steps of a submit; each runs in its lane.
  void Prepare(SubmitCall& call);
  void CheckStorage(SubmitCall& call, SweepSpec spec,
                    const std::shared_ptr<SweepQuota::Place>& place);
  // The sweep of a request that was answered already; null: it is a new one.
  std::shared_ptr<const Sweep> FindRepeated(const v1::SubmitSweepRequest& request) const;
  void AnswerRepeated(SubmitCall& call, const Sweep& sweep) const;
  void CancelSweep(CancelCall& call);

  // The sweep that the caller means. NotFound also when the caller may not look into its namespace.
  StatusOr<std::shared_ptr<const Sweep>> Find(AdmittedCall& access,
                                              const std::string& reference) const;
  // With its trials. NotFound when there is none.
  Status Show(const SweepId& id, v1::Sweep& to) const;
  Status FillList(const AdmittedCall& access, const v1::ListSweepsRequest& request,
                  v1::ListSweepsResponse& response) const;

  Reconciler& reconciler_;
  const Recorder& recorder_;
  const SubmissionContext submission_;
  SweepQuota quota_;
  WorkLanes& lanes_;
};

}  // namespace gp::coordinator
