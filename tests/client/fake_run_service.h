// FakeRunService: a RunService in this process, on port 0, that answers with data set by a test.
// Fields may be set before a call; the service answers from gRPC's threads, under its lock.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "client/fake_storage_service.h"
#include "gp/v1/node_service.grpc.pb.h"
#include "gp/v1/run_service.grpc.pb.h"
#include "rpc/answer_header.h"

namespace gp::testing {

class FakeRunService final : public v1::RunService::Service {
 public:
  FakeRunService();
  ~FakeRunService() override;

  const std::string& address() const { return address_; }
  // Served at the same address.
  FakeStorageService& storage() { return storage_; }

  // Adds a run, or replaces the run with the same id. Runs are found by name, id or "@last" (the
  // one added last).
  void AddRun(const v1::Run& run);
  // The states that Watch sends for that run, in order; it stays open when the last one is not
  // terminal.
  void SetWatch(std::vector<v1::Run> states);
  // One more state, which open streams send, too.
  void AppendWatch(const v1::Run& run);
  void AddLine(const std::string& text, int rank = 0);
  void AddEvent(v1::RunState state, const std::string& kind, const std::string& reason);
  // The event gets the next sequence number.
  void AddEvent(v1::RunEvent event);
  void AddPoint(const v1::MetricPoint& point);
  // The points that Curves sends for this run and the curve's field; there are none before.
  void SetCurve(const std::string& run_id, const v1::CurvePoints& curve);
  // A checkpoint with quarantined_at is in quarantine. RestoreCheckpoint restores it after
  // SetQuarantinedWhole(true); otherwise it answers DataLoss.
  void AddCheckpoint(const v1::Checkpoint& checkpoint);
  void SetQuarantinedWhole(bool whole);
  // Adds a node; the fake serves NodeService, too. Each time nodes are listed, a drained node has
  // one busy slot less.
  void AddNode(const v1::Node& node);
  // The next `count` calls answer Unavailable, as a coordinator that restarts does.
  void FailNext(int count);
  // Streams break with Unavailable after this many messages, once.
  void BreakStreamAfter(int messages);
  void SetSubmitError(grpc::Status status);
  // Version and the header of each answer say that a port is served without TLS.
  void SetInsecure();
  // List ignores filters, as in older coordinators.
  void SetWithoutFilters();
  // The newest List request without a page token, that is, for a first page.
  v1::ListRequest last_list() const;
  // The fake's clock is this far ahead of this machine's.
  void SetClockAhead(std::chrono::seconds ahead);
  WallTime now() const;

  v1::SubmitRequest last_submit() const;
  v1::LogsRequest last_logs() const;
  v1::CurvesRequest last_curves() const;
  std::vector<std::string> cancelled() const;
  v1::ContinueRequest last_continue() const;

  grpc::Status Submit(grpc::ServerContext*, const v1::SubmitRequest*, v1::SubmitResponse*) override;
  grpc::Status Get(grpc::ServerContext*, const v1::GetRequest*, v1::Run*) override;
  grpc::Status List(grpc::ServerContext*, const v1::ListRequest*, v1::ListResponse*) override;
  grpc::Status Cancel(grpc::ServerContext*, const v1::CancelRequest*, v1::Run*) override;
  // A running run saves first; any other is paused at once.
  // Changes the labels and the note that later calls show.
  grpc::Status Annotate(grpc::ServerContext*, const v1::AnnotateRequest*, v1::Run*) override;
  grpc::Status Pause(grpc::ServerContext*, const v1::PauseRequest*, v1::Run*) override;
  grpc::Status Resume(grpc::ServerContext*, const v1::ResumeRequest*, v1::Run*) override;
  // Refuses more than 4 ranks.
  grpc::Status Resize(grpc::ServerContext*, const v1::ResizeRequest*, v1::Run*) override;
  // Queues the run with the requested number of steps.
  grpc::Status Continue(grpc::ServerContext*, const v1::ContinueRequest*,
                        v1::ContinueResponse*) override;
  grpc::Status Watch(grpc::ServerContext*, const v1::WatchRequest*,
                     grpc::ServerWriter<v1::WatchResponse>*) override;
  grpc::Status Logs(grpc::ServerContext*, const v1::LogsRequest*,
                    grpc::ServerWriter<v1::LogLine>*) override;
  grpc::Status Events(grpc::ServerContext*, const v1::EventsRequest*,
                      grpc::ServerWriter<v1::RunEvent>*) override;
  grpc::Status Metrics(grpc::ServerContext*, const v1::MetricsRequest*,
                       grpc::ServerWriter<v1::MetricPoint>*) override;
  // Sends the runs whose parents lead to the same one.
  grpc::Status Lineage(grpc::ServerContext*, const v1::LineageRequest*,
                       grpc::ServerWriter<v1::LineageResponse>*) override;
  grpc::Status Curves(grpc::ServerContext*, const v1::CurvesRequest*,
                      grpc::ServerWriter<v1::CurvePoints>*) override;
  grpc::Status Checkpoints(grpc::ServerContext*, const v1::CheckpointsRequest*,
                           v1::CheckpointsResponse*) override;
  grpc::Status RestoreCheckpoint(grpc::ServerContext*, const v1::RestoreCheckpointRequest*,
                                 v1::Checkpoint*) override;
  grpc::Status Nodes(grpc::ServerContext*, const v1::NodesRequest*, v1::NodesResponse*) override;
  grpc::Status Version(grpc::ServerContext*, const v1::VersionRequest*,
                       v1::VersionResponse*) override;

 private:
  class NodeChanges;

  rpc::AnswerHeader Header() const;
  grpc::Status Admit();
  bool StreamBreaks();
  // Whether the last state of SetWatch is terminal; then the other streams end, too.
  bool RunEnds();
  const v1::Run* Find(const std::string& reference) const REQUIRES(mutex_);
  // The id of the ancestor that began from no run.
  std::string RootOf(const std::string& id) const REQUIRES(mutex_);
  bool IsWanted(const v1::ListRequest& request, const v1::Run& run) const REQUIRES(mutex_);
  template <typename Message>
  grpc::Status Tell(const grpc::ServerContext& context, bool follow,
                    std::vector<Message> FakeRunService::*messages,
                    const std::function<bool(const Message&)>& wanted,
                    grpc::ServerWriter<Message>& writer);

  mutable Mutex mutex_;
  std::vector<v1::Run> runs_ GUARDED_BY(mutex_);
  std::vector<v1::Run> watch_ GUARDED_BY(mutex_);
  std::vector<v1::LogLine> lines_ GUARDED_BY(mutex_);
  std::vector<v1::RunEvent> events_ GUARDED_BY(mutex_);
  std::vector<v1::MetricPoint> points_ GUARDED_BY(mutex_);
  std::vector<v1::Checkpoint> checkpoints_ GUARDED_BY(mutex_);
  bool quarantined_whole_ GUARDED_BY(mutex_) = false;
  bool insecure_ GUARDED_BY(mutex_) = false;
  bool without_filters_ GUARDED_BY(mutex_) = false;
  v1::ListRequest last_list_ GUARDED_BY(mutex_);
  std::chrono::seconds clock_ahead_ GUARDED_BY(mutex_){0};
  std::vector<v1::Node> nodes_ GUARDED_BY(mutex_);
  std::vector<std::string> cancelled_ GUARDED_BY(mutex_);
  v1::SubmitRequest last_submit_ GUARDED_BY(mutex_);
  v1::ContinueRequest last_continue_ GUARDED_BY(mutex_);
  v1::LogsRequest last_logs_ GUARDED_BY(mutex_);
  v1::CurvesRequest last_curves_ GUARDED_BY(mutex_);
  std::map<std::pair<std::string, std::string>, v1::CurvePoints> curves_ GUARDED_BY(mutex_);
  grpc::Status submit_error_ GUARDED_BY(mutex_);
  int failures_left_ GUARDED_BY(mutex_) = 0;
  int break_after_ GUARDED_BY(mutex_) = -1;

  FakeStorageService storage_;
  std::string address_;
  std::unique_ptr<NodeChanges> node_changes_;
  std::unique_ptr<grpc::Server> server_;
};

// A run in `state` with plausible numbers.
v1::Run MakeRun(const std::string& name, const std::string& id, v1::RunState state);

}  // namespace gp::testing
