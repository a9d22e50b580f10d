#include "client/fake_run_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/random_id.h"
#include "client/api/run_client.h"
#include "rpc/answer_header.h"

namespace gp::testing {
namespace {

// Far in the past, so that ages on screens are long and stable.
constexpr int64_t kStart = 1763716440;
constexpr int64_t kLeaseSeconds = 10;

grpc::Status Broken() { return {grpc::StatusCode::UNAVAILABLE, "the fake broke the stream"}; }

}  // namespace

// Nodes are found by name.
class FakeRunService::NodeChanges final : public v1::NodeService::Service {
 public:
  explicit NodeChanges(FakeRunService& owner) : owner_(owner) {}

  grpc::Status Cordon(grpc::ServerContext*, const v1::CordonRequest* request,
                      v1::Node* node) override {
    return Change(request->node(), *node, [&](v1::Node& known) { Close(*request, known); });
  }
  grpc::Status Drain(grpc::ServerContext*, const v1::DrainRequest* request,
                     v1::Node* node) override {
    return Change(request->node(), *node, [&](v1::Node& known) {
      Close(*request, known);
      known.mutable_cordon()->set_drain(true);
    });
  }
  grpc::Status Uncordon(grpc::ServerContext*, const v1::UncordonRequest* request,
                        v1::Node* node) override {
    return Change(request->node(), *node, [](v1::Node& known) { known.clear_cordon(); });
  }

 private:
  template <typename Request>
  static void Close(const Request& request, v1::Node& node) {
    node.mutable_cordon()->set_reason(request.reason());
    node.mutable_cordon()->set_actor("owner");
    node.mutable_cordon()->mutable_since()->set_seconds(kStart);
  }

  grpc::Status Change(const std::string& name, v1::Node& answer,
                      const std::function<void(v1::Node&)>& change) {
    MutexLock lock(owner_.mutex_);
    for (v1::Node& node : owner_.nodes_) {
      if (node.name() != name) continue;
      change(node);
      answer = node;
      return grpc::Status::OK;
    }
    return {grpc::StatusCode::NOT_FOUND, "node '" + name + "' does not exist"};
  }

  FakeRunService& owner_;
};

FakeRunService::FakeRunService() : node_changes_(std::make_unique<NodeChanges>(*this)) {
  address_ = "unix:" + ::testing::TempDir() + "gp-fake-" + RandomId(8) + ".sock";
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  builder.RegisterService(node_changes_.get());
  builder.RegisterService(&storage_);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(rpc::MakeHeaderWriter([this] { return Header(); }));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  server_ = builder.BuildAndStart();
}

FakeRunService::~FakeRunService() { server_->Shutdown(std::chrono::system_clock::now()); }

void FakeRunService::AddRun(const v1::Run& run) {
  MutexLock lock(mutex_);
  for (v1::Run& known : runs_) {
    if (known.run_id() != run.run_id()) continue;
    known = run;
    return;
  }
  runs_.push_back(run);
}

void FakeRunService::SetWatch(std::vector<v1::Run> states) {
  MutexLock lock(mutex_);
  watch_ = std::move(states);
}

void FakeRunService::AppendWatch(const v1::Run& run) {
  MutexLock lock(mutex_);
  watch_.push_back(run);
}

void FakeRunService::AddLine(const std::string& text, int rank) {
  MutexLock lock(mutex_);
  v1::LogLine line;
  line.set_sequence(lines_.size() + 1);
  line.set_rank(rank);
  line.set_text(text);
  line.mutable_at()->set_seconds(kStart);
  lines_.push_back(line);
}

void FakeRunService::AddEvent(v1::RunState state, const std::string& kind,
                              const std::string& reason) {
  v1::RunEvent event;
  event.set_state(state);
  event.set_kind(kind);
  event.set_reason(reason);
  event.set_actor("scheduler");
  event.mutable_at()->set_seconds(kStart);
  AddEvent(std::move(event));
}

void FakeRunService::AddEvent(v1::RunEvent event) {
  MutexLock lock(mutex_);
  event.set_sequence(events_.size() + 1);
  events_.push_back(std::move(event));
}

void FakeRunService::AddPoint(const v1::MetricPoint& point) {
  MutexLock lock(mutex_);
  points_.push_back(point);
}

void FakeRunService::AddCheckpoint(const v1::Checkpoint& checkpoint) {
  MutexLock lock(mutex_);
  checkpoints_.push_back(checkpoint);
}

void FakeRunService::SetQuarantinedWhole(bool whole) {
  MutexLock lock(mutex_);
  quarantined_whole_ = whole;
}

void FakeRunService::AddNode(const v1::Node& node) {
  MutexLock lock(mutex_);
  nodes_.push_back(node);
}

void FakeRunService::FailNext(int count) {
  MutexLock lock(mutex_);
  failures_left_ = count;
}

void FakeRunService::BreakStreamAfter(int messages) {
  MutexLock lock(mutex_);
  break_after_ = messages;
}

void FakeRunService::SetInsecure() {
  MutexLock lock(mutex_);
  insecure_ = true;
}

void FakeRunService::SetWithoutFilters() {
  MutexLock lock(mutex_);
  without_filters_ = true;
}

v1::ListRequest FakeRunService::last_list() const {
  MutexLock lock(mutex_);
  return last_list_;
}

void FakeRunService::SetClockAhead(std::chrono::seconds ahead) {
  MutexLock lock(mutex_);
  clock_ahead_ = ahead;
}

WallTime FakeRunService::now() const {
  MutexLock lock(mutex_);
  return SystemClock().WallNow() + clock_ahead_;
}

rpc::AnswerHeader FakeRunService::Header() const {
  const WallTime time = now();
  MutexLock lock(mutex_);
  return {time, insecure_};
}

void FakeRunService::SetSubmitError(grpc::Status status) {
  MutexLock lock(mutex_);
  submit_error_ = std::move(status);
}

v1::SubmitRequest FakeRunService::last_submit() const {
  MutexLock lock(mutex_);
  return last_submit_;
}

v1::LogsRequest FakeRunService::last_logs() const {
  MutexLock lock(mutex_);
  return last_logs_;
}

std::vector<std::string> FakeRunService::cancelled() const {
  MutexLock lock(mutex_);
  return cancelled_;
}

grpc::Status FakeRunService::Admit() {
  MutexLock lock(mutex_);
  if (failures_left_ == 0) return grpc::Status::OK;
  --failures_left_;
  return {grpc::StatusCode::UNAVAILABLE, "the fake is restarting"};
}

bool FakeRunService::StreamBreaks() {
  MutexLock lock(mutex_);
  if (break_after_ < 0) return false;
  return break_after_-- == 0;
}

bool FakeRunService::RunEnds() {
  MutexLock lock(mutex_);
  return !watch_.empty() && client::IsTerminal(watch_.back().state());
}

// Sends the existing `wanted` messages and, to followers, later ones.
template <typename Message>
grpc::Status FakeRunService::Tell(const grpc::ServerContext& context, bool follow,
                                  std::vector<Message> FakeRunService::*messages,
                                  const std::function<bool(const Message&)>& wanted,
                                  grpc::ServerWriter<Message>& writer) {
  size_t told = 0;
  bool past = true;
  while (!context.IsCancelled()) {
    std::vector<Message> news;
    {
      MutexLock lock(mutex_);
      news.assign((this->*messages).begin() + static_cast<std::ptrdiff_t>(told),
                  (this->*messages).end());
    }
    for (const Message& message : news) {
      // The history is filtered; later messages are always sent.
      if (past && !wanted(message)) continue;
      if (StreamBreaks()) return Broken();
      writer.Write(message);
    }
    told += news.size();
    past = false;
    if (!follow || RunEnds()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return grpc::Status::OK;
}

const v1::Run* FakeRunService::Find(const std::string& reference) const {
  if (reference == "@last" && !runs_.empty()) return &runs_.back();
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    if (run->name() == reference || run->run_id() == reference) return &*run;
  }
  return nullptr;
}

grpc::Status FakeRunService::Submit(grpc::ServerContext*, const v1::SubmitRequest* request,
                                    v1::SubmitResponse* response) {
  if (auto status = Admit(); !status.ok()) return status;
  MutexLock lock(mutex_);
  last_submit_ = *request;
  if (!submit_error_.ok()) return submit_error_;
  *response->mutable_run() = MakeRun(request->name().empty() ? "submitted" : request->name(),
                                     "abcdefgh01", v1::RUN_STATE_QUEUED);
  if (!request->dry_run()) runs_.push_back(response->run());
  return grpc::Status::OK;
}

grpc::Status FakeRunService::Get(grpc::ServerContext*, const v1::GetRequest* request,
                                 v1::Run* run) {
  if (auto status = Admit(); !status.ok()) return status;
  MutexLock lock(mutex_);
  if (request->run() == "ambiguous") {
    return {grpc::StatusCode::FAILED_PRECONDITION, "'ambiguous' begins the ids of 2 runs"};
  }
  const v1::Run* found = Find(request->run());
  if (found == nullptr) return {grpc::StatusCode::NOT_FOUND, "no such run"};
  *run = *found;
  return grpc::Status::OK;
}

bool FakeRunService::IsWanted(const v1::ListRequest& request, const v1::Run& run) const {
  const bool ended = client::IsTerminal(run.state());
  if (without_filters_ || request.states().empty()) {
    if (ended && !request.include_finished()) return false;
  } else if (std::find(request.states().begin(), request.states().end(), run.state()) ==
             request.states().end()) {
    return false;
  }
  if (without_filters_) return true;
  for (const auto& [key, value] : request.labels()) {
    const auto found = run.labels().find(key);
    if (found == run.labels().end() || found->second != value) return false;
  }
  if (!request.submitted_by().empty() && run.submitted_by() != "user " + request.submitted_by()) {
    return false;
  }
  return run.name().find(request.search()) != std::string::npos &&
         run.submitted_at().seconds() >= request.submitted_since().seconds();
}

// The page_token is the number of runs on the previous pages.
grpc::Status FakeRunService::List(grpc::ServerContext*, const v1::ListRequest* request,
                                  v1::ListResponse* response) {
  if (auto status = Admit(); !status.ok()) return status;
  MutexLock lock(mutex_);
  if (request->page_token().empty()) last_list_ = *request;
  std::vector<const v1::Run*> wanted;
  std::map<v1::RunState, int64_t> counts;
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    if (IsWanted(*request, *run)) wanted.push_back(&*run);
    ++counts[run->state()];
  }
  const auto group = [](const v1::Run* run) {
    if (client::IsTerminal(run->state())) return 2;
    return run->state() <= v1::RUN_STATE_QUEUED ? 1 : 0;
  };
  std::stable_sort(wanted.begin(), wanted.end(),
                   [&](const auto* a, const auto* b) { return group(a) < group(b); });
  const size_t first = request->page_token().empty() ? 0 : std::stoul(request->page_token());
  const size_t limit = request->limit() > 0 ? static_cast<size_t>(request->limit()) : 100;
  const size_t last = std::min(wanted.size(), first + limit);
  for (size_t i = first; i < last; ++i) *response->add_runs() = *wanted[i];
  if (last < wanted.size()) response->set_next_page_token(std::to_string(last));
  if (without_filters_) return grpc::Status::OK;
  const bool is_counted = request->labels().empty() && request->search().empty() &&
                          request->submitted_by().empty() && !request->has_submitted_since();
  if (is_counted) response->set_total(static_cast<int64_t>(wanted.size()));
  for (const auto& [state, count] : counts) {
    v1::StateCount& added = *response->add_state_counts();
    added.set_state(state);
    added.set_runs(count);
  }
  return grpc::Status::OK;
}

v1::ContinueRequest FakeRunService::last_continue() const {
  MutexLock lock(mutex_);
  return last_continue_;
}

grpc::Status FakeRunService::Annotate(grpc::ServerContext*, const v1::AnnotateRequest* request,
                                      v1::Run* run) {
  if (auto status = Admit(); !status.ok()) return status;
  MutexLock lock(mutex_);
  const v1::Run* found = Find(request->run());
  if (found == nullptr) return {grpc::StatusCode::NOT_FOUND, "no such run"};
  *run = *found;
  for (const std::string& key : request->removed_labels()) run->mutable_labels()->erase(key);
  for (const auto& [key, value] : request->labels()) (*run->mutable_labels())[key] = value;
  if (request->has_note()) run->set_note(request->note());
  for (v1::Run& kept : runs_) {
    if (kept.run_id() == run->run_id()) kept = *run;
  }
  return grpc::Status::OK;
}

grpc::Status FakeRunService::Pause(grpc::ServerContext*, const v1::PauseRequest* request,
                                   v1::Run* run) {
  if (auto status = Admit(); !status.ok()) return status;
  MutexLock lock(mutex_);
  const v1::Run* found = Find(request->run());
  if (found == nullptr) return {grpc::StatusCode::NOT_FOUND, "no such run"};
  *run = *found;
  if (found->state() == v1::RUN_STATE_RUNNING) {
    run->set_leaving_for("a user paused the run");
  } else {
    run->set_state(v1::RUN_STATE_PAUSED);
  }
  return grpc::Status::OK;
}

grpc::Status FakeRunService::Resume(grpc::ServerContext*, const v1::ResumeRequest* request,
                                    v1::Run* run) {
  if (auto status = Admit(); !status.ok()) return status;
  MutexLock lock(mutex_);
  const v1::Run* found = Find(request->run());
  if (found == nullptr) return {grpc::StatusCode::NOT_FOUND, "no such run"};
  *run = *found;
  run->set_state(v1::RUN_STATE_QUEUED);
  run->set_reason("resumed by owner");
  return grpc::Status::OK;
}

grpc::Status FakeRunService::Resize(grpc::ServerContext*, const v1::ResizeRequest* request,
                                    v1::Run* run) {
  if (auto status = Admit(); !status.ok()) return status;
  MutexLock lock(mutex_);
  const v1::Run* found = Find(request->run());
  if (found == nullptr) return {grpc::StatusCode::NOT_FOUND, "no such run"};
  if (request->workers() > 4) {
    return {grpc::StatusCode::FAILED_PRECONDITION, "it has at most 4 ranks; fork"};
  }
  *run = *found;
  run->set_workers(request->workers());
  return grpc::Status::OK;
}

grpc::Status FakeRunService::Continue(grpc::ServerContext*, const v1::ContinueRequest* request,
                                      v1::ContinueResponse* response) {
  if (auto status = Admit(); !status.ok()) return status;
  MutexLock lock(mutex_);
  last_continue_ = *request;
  const v1::Run* found = Find(request->run());
  if (found == nullptr) return {grpc::StatusCode::NOT_FOUND, "no such run"};
  v1::Run& run = *response->mutable_run();
  run = *found;
  run.set_state(v1::RUN_STATE_QUEUED);
  run.set_reason("extended");
  run.add_legs()->set_resolved(run.resolved());
  if (request->steps() > 0) run.mutable_progress()->set_target_steps(request->steps());
  return grpc::Status::OK;
}

grpc::Status FakeRunService::Cancel(grpc::ServerContext*, const v1::CancelRequest* request,
                                    v1::Run* run) {
  if (auto status = Admit(); !status.ok()) return status;
  MutexLock lock(mutex_);
  const v1::Run* found = Find(request->run());
  if (found == nullptr) return {grpc::StatusCode::NOT_FOUND, "no such run"};
  if (found->state() == v1::RUN_STATE_SUCCEEDED) {
    return {grpc::StatusCode::FAILED_PRECONDITION, "run has succeeded already"};
  }
  cancelled_.push_back(found->name());
  *run = *found;
  run->set_state(v1::RUN_STATE_CANCELLING);
  return grpc::Status::OK;
}

grpc::Status FakeRunService::Watch(grpc::ServerContext* context, const v1::WatchRequest*,
                                   grpc::ServerWriter<v1::WatchResponse>* writer) {
  size_t told = 0;
  while (!context->IsCancelled()) {
    std::vector<v1::Run> states;
    {
      MutexLock lock(mutex_);
      states.assign(watch_.begin() + static_cast<std::ptrdiff_t>(told), watch_.end());
    }
    for (const v1::Run& run : states) {
      if (StreamBreaks()) return Broken();
      v1::WatchResponse response;
      *response.mutable_run() = run;
      writer->Write(response);
    }
    told += states.size();
    if (RunEnds()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return grpc::Status::OK;
}

grpc::Status FakeRunService::Logs(grpc::ServerContext* context, const v1::LogsRequest* request,
                                  grpc::ServerWriter<v1::LogLine>* writer) {
  std::vector<v1::LogLine> lines;
  {
    MutexLock lock(mutex_);
    last_logs_ = *request;
    lines = lines_;
  }
  if (request->tail() > 0 && lines.size() > static_cast<size_t>(request->tail())) {
    lines.erase(lines.begin(), lines.end() - request->tail());
  }
  for (const v1::LogLine& line : lines) {
    if (line.sequence() <= request->after_sequence()) continue;
    if (request->rank() >= 0 && line.rank() != request->rank()) continue;
    if (StreamBreaks()) return Broken();
    writer->Write(line);
  }
  while (request->follow() && !RunEnds() && !context->IsCancelled()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return grpc::Status::OK;
}

grpc::Status FakeRunService::Events(grpc::ServerContext* context, const v1::EventsRequest* request,
                                    grpc::ServerWriter<v1::RunEvent>* writer) {
  const auto wanted = [&](const v1::RunEvent& event) {
    return event.sequence() > request->after_sequence();
  };
  return Tell<v1::RunEvent>(*context, request->follow(), &FakeRunService::events_, wanted, *writer);
}

grpc::Status FakeRunService::Metrics(grpc::ServerContext* context,
                                     const v1::MetricsRequest* request,
                                     grpc::ServerWriter<v1::MetricPoint>* writer) {
  const auto wanted = [&](const v1::MetricPoint& point) {
    return point.step() > request->after_step();
  };
  return Tell<v1::MetricPoint>(*context, request->follow(), &FakeRunService::points_, wanted,
                               *writer);
}

std::string FakeRunService::RootOf(const std::string& id) const {
  const v1::Run* run = Find(id);
  return run != nullptr && run->has_parent() ? RootOf(run->parent().run_id()) : id;
}

grpc::Status FakeRunService::Lineage(grpc::ServerContext*, const v1::LineageRequest* request,
                                     grpc::ServerWriter<v1::LineageResponse>* writer) {
  if (auto status = Admit(); !status.ok()) return status;
  std::vector<v1::LineageResponse> relatives;
  {
    MutexLock lock(mutex_);
    const v1::Run* wanted = Find(request->run());
    if (wanted == nullptr) return {grpc::StatusCode::NOT_FOUND, "no run"};
    for (const v1::Run& run : runs_) {
      if (RootOf(run.run_id()) != RootOf(wanted->run_id())) continue;
      *relatives.emplace_back().mutable_run() = run;
    }
  }
  // The header of an answer takes the mutex, too.
  for (const v1::LineageResponse& relative : relatives) writer->Write(relative);
  return grpc::Status::OK;
}

grpc::Status FakeRunService::Curves(grpc::ServerContext*, const v1::CurvesRequest* request,
                                    grpc::ServerWriter<v1::CurvePoints>* writer) {
  if (auto status = Admit(); !status.ok()) return status;
  std::vector<v1::CurvePoints> curves;
  {
    MutexLock lock(mutex_);
    const v1::Run* run = Find(request->run());
    if (run == nullptr) return {grpc::StatusCode::NOT_FOUND, "no run"};
    last_curves_ = *request;
    for (const std::string& field : request->fields()) {
      const auto found = curves_.find({run->run_id(), field});
      if (found != curves_.end()) curves.push_back(found->second);
    }
  }
  for (const v1::CurvePoints& curve : curves) writer->Write(curve);
  return grpc::Status::OK;
}

void FakeRunService::SetCurve(const std::string& run_id, const v1::CurvePoints& curve) {
  MutexLock lock(mutex_);
  curves_[{run_id, curve.field()}] = curve;
}

v1::CurvesRequest FakeRunService::last_curves() const {
  MutexLock lock(mutex_);
  return last_curves_;
}

grpc::Status FakeRunService::Checkpoints(grpc::ServerContext*,
                                         const v1::CheckpointsRequest* request,
                                         v1::CheckpointsResponse* response) {
  if (auto status = Admit(); !status.ok()) return status;
  MutexLock lock(mutex_);
  const v1::Run* run = Find(request->run());
  for (const v1::Checkpoint& checkpoint : checkpoints_) {
    const v1::Run* owner = Find(checkpoint.run_id());
    if (run != nullptr && owner != nullptr && run != owner) continue;
    const bool held = checkpoint.has_quarantined_at();
    *(held ? response->add_quarantined() : response->add_checkpoints()) = checkpoint;
  }
  return grpc::Status::OK;
}

grpc::Status FakeRunService::RestoreCheckpoint(grpc::ServerContext*,
                                               const v1::RestoreCheckpointRequest* request,
                                               v1::Checkpoint* response) {
  if (auto status = Admit(); !status.ok()) return status;
  MutexLock lock(mutex_);
  for (v1::Checkpoint& checkpoint : checkpoints_) {
    if (checkpoint.step() != request->step() || !checkpoint.has_quarantined_at()) continue;
    if (!quarantined_whole_) return {grpc::StatusCode::DATA_LOSS, "a digest differs"};
    checkpoint.clear_quarantine_reason();
    checkpoint.clear_quarantined_at();
    *response = checkpoint;
    return grpc::Status::OK;
  }
  return {grpc::StatusCode::FAILED_PRECONDITION, "nothing of that step is in quarantine"};
}

grpc::Status FakeRunService::Nodes(grpc::ServerContext*, const v1::NodesRequest*,
                                   v1::NodesResponse* response) {
  if (auto status = Admit(); !status.ok()) return status;
  MutexLock lock(mutex_);
  for (v1::Node& node : nodes_) {
    if (node.cordon().drain()) node.set_busy_slots(std::max(0, node.busy_slots() - 1));
    *response->add_nodes() = node;
  }
  response->mutable_lease()->set_seconds(kLeaseSeconds);
  return grpc::Status::OK;
}

grpc::Status FakeRunService::Version(grpc::ServerContext*, const v1::VersionRequest*,
                                     v1::VersionResponse* response) {
  if (auto status = Admit(); !status.ok()) return status;
  response->set_version("0.1.0");
  response->set_protocol(1);
  response->set_coordinator_generation(3);
  response->set_storage_root("/srv/gp");
  MutexLock lock(mutex_);
  response->set_insecure(insecure_);
  return grpc::Status::OK;
}

v1::Run MakeRun(const std::string& name, const std::string& id, v1::RunState state) {
  v1::Run run;
  run.set_run_id(id);
  run.set_name(name);
  run.set_namespace_("default");
  run.set_state(state);
  run.set_reason("as the test wants it");
  run.set_workers(2);
  run.set_epoch(1);
  run.set_latest_checkpoint_step(-1);
  run.set_best_checkpoint_step(-1);
  run.mutable_submitted_at()->set_seconds(kStart);
  run.mutable_started_at()->set_seconds(kStart);
  if (client::IsTerminal(state)) run.mutable_finished_at()->set_seconds(kStart + 125);
  auto* progress = run.mutable_progress();
  progress->set_target_steps(2000);
  if (state != v1::RUN_STATE_QUEUED) {
    progress->set_step(500);
    progress->set_tokens(384000);
    progress->set_loss(2.0512);
    progress->set_validation_loss(2.1);
    progress->set_validation_step(250);
    progress->set_tokens_per_second(15200);
    progress->set_step_seconds(0.0505);
    progress->set_mfu(0.31);
    progress->set_learning_rate(9.5e-4);
    progress->set_gradient_norm(0.74);
  }
  return run;
}

}  // namespace gp::testing
