#include "client/gpctl/session/run_feed.h"

#include "runspec/run_file.h"

namespace gp::gpctl {
namespace {

// Lines of the log that are asked for at first: enough for a large terminal, and to find a sample.
constexpr int kLogTail = 1000;

double TimeBudgetOf(const v1::Run& run) {
  if (run.resolved().empty()) return 0;
  const auto result = runspec::LoadRunFile(run.resolved(), "resolved.yaml");
  return result.spec ? std::chrono::duration<double>(result.spec->budget.wall_time).count() : 0;
}

}  // namespace

RunFeed::RunFeed(const v1::Run& run, Session& session)
    : run_id_(run.run_id()), user_(session.console().interruption) {
  model_.Apply(run);
}

StatusOr<std::unique_ptr<RunFeed>> RunFeed::Open(const v1::Run& run, const FeedOptions& options,
                                                 Session& session) {
  std::unique_ptr<RunFeed> feed(new RunFeed(run, session));
  ASSIGN_OR_RETURN(feed->client_,
                   session.NewClient(feed->stop_, [model = feed.get()](const std::string& notice) {
                     model->SetNotice(notice);
                   }));
  const double budget = options.time_budget_seconds;
  {
    MutexLock lock(feed->mutex_);
    feed->model_.SetTimeBudget(budget > 0 ? budget : TimeBudgetOf(run));
  }
  feed->Start(options);
  return feed;
}

void RunFeed::SetNotice(const std::string& notice) {
  MutexLock lock(mutex_);
  model_.SetNotice(notice);
}

RunFeed::~RunFeed() { stop_.Request(); }

void RunFeed::Start(const FeedOptions& options) {
  Follow(&RunFeed::FollowRun);
  Follow(&RunFeed::FollowMetrics);
  if (options.events) Follow(&RunFeed::FollowEvents);
  if (options.samples) Follow(&RunFeed::FollowSamples);
  if (options.log_tail) Follow(&RunFeed::FollowLog);
}

void RunFeed::Follow(Status (RunFeed::*stream)()) {
  {
    MutexLock lock(mutex_);
    ++streams_left_;
  }
  threads_.emplace_back([this, stream] {
    const Status status = (this->*stream)();
    const bool watch = stream == &RunFeed::FollowRun;
    {
      MutexLock lock(mutex_);
      --streams_left_;
      if (watch) status_ = status;
      stream_done_.NotifyAll();
    }
    if (watch) ended_.Request();
  });
}

Status RunFeed::FollowRun() {
  return client_->Watch(run_id_, [this](const v1::Run& run) {
    MutexLock lock(mutex_);
    model_.Apply(run);
    return true;
  });
}

Status RunFeed::FollowMetrics() {
  v1::MetricsRequest request;
  request.set_run(run_id_);
  request.set_after_step(-1);
  request.set_follow(true);
  return client_->Metrics(request, [this](const v1::MetricPoint& point) {
    MutexLock lock(mutex_);
    model_.Apply(point);
    return true;
  });
}

Status RunFeed::FollowEvents() {
  v1::EventsRequest request;
  request.set_run(run_id_);
  request.set_follow(true);
  return client_->Events(request, [this](const v1::RunEvent& event) {
    MutexLock lock(mutex_);
    model_.Apply(event);
    return true;
  });
}

Status RunFeed::FollowSamples() {
  v1::LogsRequest request;
  request.set_run(run_id_);
  request.set_follow(true);
  request.set_rank(0);
  return client_->Logs(request, [this](const v1::LogLine& line) {
    const auto sample = ParseSampleLine(line.text());
    MutexLock lock(mutex_);
    if (sample) model_.Apply(*sample);
    return true;
  });
}

Status RunFeed::FollowLog() {
  v1::LogsRequest request;
  request.set_run(run_id_);
  request.set_follow(true);
  request.set_rank(-1);
  request.set_tail(kLogTail);
  return client_->Logs(request, [this](const v1::LogLine& line) {
    MutexLock lock(mutex_);
    model_.Apply(line);
    return true;
  });
}

StatusOr<bool> RunFeed::WaitForEnd(std::chrono::nanoseconds longest) {
  client::Interruption wake;
  const auto by_user = user_.OnRequest([&wake] { wake.Request(); });
  const auto by_end = ended_.OnRequest([&wake] { wake.Request(); });
  wake.WaitFor(longest);
  if (user_.requested()) return Cancelled("interrupted");
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(status_);
  return ended_.requested();
}

void RunFeed::Drain(std::chrono::nanoseconds longest) {
  const auto deadline = std::chrono::steady_clock::now() + longest;
  MutexLock lock(mutex_);
  while (streams_left_ > 0) {
    if (!stream_done_.WaitUntil(mutex_, deadline)) return;
  }
}

RunModel RunFeed::Model() const {
  MutexLock lock(mutex_);
  return model_;
}

void RunFeed::Read(const std::function<void(const RunModel&)>& read) const {
  MutexLock lock(mutex_);
  read(model_);
}

}  // namespace gp::gpctl
