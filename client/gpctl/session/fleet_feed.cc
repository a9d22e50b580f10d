#include "client/gpctl/session/fleet_feed.h"

#include <algorithm>
#include <optional>

namespace gp::gpctl {
namespace {

constexpr int kRunsMax = 500;
// A sparkline shows about this many of the newest steps.
constexpr int64_t kHistorySteps = 600;
// Loss histories read per poll, limited so that a long list does not delay the screen.
constexpr size_t kHistoriesMax = 8;

constexpr std::chrono::seconds kOutageMax{60};

bool IsAway(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded;
}

v1::ListRequest UnfinishedRuns(const std::string& scope) {
  v1::ListRequest request;
  request.set_namespace_(scope);
  request.set_limit(kRunsMax);
  return request;
}

int64_t MoreThanListed(const v1::ListResponse& runs) {
  return runs.has_total() ? std::max<int64_t>(0, runs.total() - runs.runs_size()) : 0;
}

StatusOr<ThinnedCurve> ReadLosses(client::RunClient& client, const v1::Run& run) {
  v1::MetricsRequest request;
  request.set_run(run.run_id());
  request.set_after_step(std::max<int64_t>(-1, run.progress().step() - kHistorySteps));
  ThinnedCurve losses(256);
  RETURN_IF_ERROR(client.Metrics(request, [&losses](const v1::MetricPoint& point) {
    losses.Add(point.step(), point.loss());
    return true;
  }));
  return losses;
}

}  // namespace

StatusOr<FleetModel> FleetFeed::Read(Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  FleetModel model;
  ASSIGN_OR_RETURN(const v1::NodesResponse nodes, client->Nodes());
  ASSIGN_OR_RETURN(const v1::ListResponse runs,
                   client->List(UnfinishedRuns(session.NamespaceOfRuns())));
  model.Apply(nodes);
  model.Apply(runs, MoreThanListed(runs));
  return model;
}

StatusOr<std::unique_ptr<FleetFeed>> FleetFeed::Open(std::chrono::nanoseconds interval,
                                                     std::function<void()> on_news,
                                                     Session& session) {
  std::unique_ptr<FleetFeed> feed(
      new FleetFeed(interval, std::move(on_news), session.NamespaceOfRuns()));
  ASSIGN_OR_RETURN(feed->client_,
                   session.NewClient(feed->stop_, [owner = feed.get()](const std::string& notice) {
                     owner->SetNotice(notice);
                   }));
  feed->thread_ = std::jthread([owner = feed.get()] { owner->Follow(); });
  return feed;
}

FleetFeed::~FleetFeed() { stop_.Request(); }

void FleetFeed::SetNotice(const std::string& notice) {
  {
    MutexLock lock(mutex_);
    model_.SetNotice(notice);
  }
  on_news_();
}

void FleetFeed::Follow() {
  std::optional<std::chrono::steady_clock::time_point> answered_at;
  while (!stop_.requested()) {
    const Status status = Ask();
    if (stop_.requested()) return;
    const auto now = std::chrono::steady_clock::now();
    if (status.ok()) answered_at = now;
    // A coordinator that is away is waited for, as streams do; the screen shows the notice.
    if (!status.ok() && (!IsAway(status) || !answered_at || now - *answered_at > kOutageMax)) {
      {
        MutexLock lock(mutex_);
        status_ = status;
      }
      on_news_();
      return;
    }
    on_news_();
    stop_.WaitFor(interval_);
  }
}

Status FleetFeed::Ask() {
  ASSIGN_OR_RETURN(const v1::NodesResponse nodes, client_->Nodes());
  ASSIGN_OR_RETURN(const v1::ListResponse runs, client_->List(UnfinishedRuns(namespace_)));
  std::vector<v1::Run> unknown;
  {
    MutexLock lock(mutex_);
    model_.Apply(nodes);
    model_.Apply(runs, MoreThanListed(runs));
    unknown = model_.RunsWithoutHistory();
  }
  on_news_();
  for (size_t i = 0; i < std::min(unknown.size(), kHistoriesMax); ++i) {
    const StatusOr<ThinnedCurve> losses = ReadLosses(*client_, unknown[i]);
    if (stop_.requested()) return OkStatus();
    // A run that has just been deleted has no losses.
    MutexLock lock(mutex_);
    model_.Apply(unknown[i].run_id(), losses.ok() ? *losses : ThinnedCurve(256));
  }
  return OkStatus();
}

void FleetFeed::Read(const std::function<void(const FleetModel&)>& read) const {
  MutexLock lock(mutex_);
  read(model_);
}

Status FleetFeed::status() const {
  MutexLock lock(mutex_);
  return status_;
}

}  // namespace gp::gpctl
