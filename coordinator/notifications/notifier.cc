#include "coordinator/notifications/notifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "base/log.h"
#include "base/random_id.h"
#include "coordinator/store/ended_runs_table.h"

namespace gp::coordinator {
namespace {

constexpr int kEventsAtOnce = 500;
// How often notifications that became too old are looked for.
constexpr std::chrono::minutes kExpiryPeriod{1};

std::vector<std::string> NamesOf(const NotificationTargets& targets) {
  std::vector<std::string> names;
  for (const NotificationTarget& target : targets.targets) names.push_back(target.name);
  return names;
}

bool WantsWaits(const NotificationTargets& targets) {
  return std::ranges::any_of(targets.targets, [](const NotificationTarget& target) {
    return target.events.contains(Occasion::kWaiting);
  });
}

}  // namespace

StatusOr<std::unique_ptr<Notifier>> Notifier::Open(NotificationTargets targets,
                                                   NotifierContext context,
                                                   NotifierOptions options) {
  ASSIGN_OR_RETURN(auto queue, NotificationQueue::Open(context.state_dir, options.limits));
  ASSIGN_OR_RETURN(EventLog log, EventLog::Open(context.state_dir));
  ASSIGN_OR_RETURN(const TargetCounts forgotten,
                   queue->SetTargets(NamesOf(targets), context.snapshot()->last_sequence));
  for (const auto& [target, queued] : forgotten) {
    LogWarning("a notification target is not configured any more; its queue was removed",
               {{"target", target}, {"queued", queued}});
  }
  ASSIGN_OR_RETURN(const uint64_t cursor, queue->Cursor());
  return std::unique_ptr<Notifier>(new Notifier(std::move(targets), std::move(context),
                                                std::move(options), std::move(queue),
                                                std::move(log), cursor));
}

Notifier::Notifier(NotificationTargets targets, NotifierContext context, NotifierOptions options,
                   std::unique_ptr<NotificationQueue> queue, EventLog log, uint64_t cursor)
    : targets_(std::move(targets)),
      context_(std::move(context)),
      options_(std::move(options)),
      queue_(std::move(queue)),
      log_(std::move(log)),
      cursor_(cursor) {
  for (const NotificationTarget& target : targets_.targets) {
    context_.series.AddTarget(target.name);
    senders_.emplace_back(target, *queue_, context_.series, context_.clock, options_.sender);
  }
}

Notifier::~Notifier() { Stop(); }

void Notifier::Start() {
  for (TargetSender& sender : senders_) sender.Start();
  thread_ = std::thread([this] { Loop(); });
}

void Notifier::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    stopping_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  for (TargetSender& sender : senders_) sender.BeginStop();
  for (TargetSender& sender : senders_) sender.Stop();
}

void Notifier::Loop() {
  std::string last_problem;
  while (true) {
    const Status looked = Look();
    const std::string problem = gp::Message(looked);
    if (!looked.ok() && problem != last_problem) {
      LogWarning("cannot queue notifications; trying again", {{"error", problem}});
    }
    last_problem = problem;
    const auto deadline = std::chrono::steady_clock::now() + options_.period;
    MutexLock lock(mutex_);
    while (!stopped_) {
      if (!stopping_.WaitUntil(mutex_, deadline)) break;
    }
    if (stopped_) return;
  }
}

Status Notifier::Look() {
  const auto cluster = context_.snapshot();
  if (!waits_are_read_) RETURN_IF_ERROR(ReadWaits(*cluster));
  RETURN_IF_ERROR(ReadEvents(*cluster));
  RETURN_IF_ERROR(ReportWaits(*cluster));
  if (context_.clock.WallNow() - kept_at_ >= kExpiryPeriod) {
    RETURN_IF_ERROR(Keep({.through = cursor_}));
  }
  for (const NotificationTarget& target : targets_.targets) {
    ASSIGN_OR_RETURN(const QueueState state, queue_->StateOf(target.name));
    context_.series.Queued(target.name, state.queued);
  }
  return OkStatus();
}

// The waits that began before the cursor, so that ReadEvents does not see their events.
Status Notifier::ReadWaits(const Cluster& cluster) {
  ASSIGN_OR_RETURN(const auto reported, queue_->ReportedWaits());
  for (const auto& [run, sequence] : reported) waiting_.SetReported(run, sequence);
  for (const auto& [submitted, id] : cluster.live) {
    if (!WantsWaits(targets_) || !IsWaiting(cluster.FindRun(id)->state)) continue;
    ASSIGN_OR_RETURN(const auto events, log_.ReadRun(id, cursor_));
    for (const StoredEvent& stored : events) waiting_.Observe(stored);
  }
  waits_are_read_ = true;
  return OkStatus();
}

Status Notifier::ReadEvents(const Cluster& cluster) {
  // Not beyond the published state, so that it knows every run of these events.
  while (cursor_ < cluster.last_sequence) {
    ASSIGN_OR_RETURN(const auto events, log_.Read(cursor_, cluster.last_sequence, kEventsAtOnce));
    if (events.empty()) return DataLoss("the store lacks record {}", cursor_ + 1);
    ASSIGN_OR_RETURN(const QueueAddition addition,
                     PlanNotifications(events, targets_.targets, KnowledgeOf(cluster)));
    RETURN_IF_ERROR(Keep(addition));
    for (const StoredEvent& stored : events) waiting_.Observe(stored);
    cursor_ = addition.through;
  }
  return OkStatus();
}

Status Notifier::ReportWaits(const Cluster& cluster) {
  if (!WantsWaits(targets_)) return OkStatus();
  const Timestamp now = context_.clock.WallNow();
  const auto due = waiting_.Due(cluster, now, targets_.waiting_longer_than);
  if (due.empty()) return OkStatus();
  ASSIGN_OR_RETURN(const QueueAddition addition,
                   PlanWaitingNotifications(due, now, targets_.targets, KnowledgeOf(cluster)));
  RETURN_IF_ERROR(Keep(addition));
  for (const auto& [run, sequence] : addition.waits) waiting_.SetReported(run, sequence);
  return OkStatus();
}

Status Notifier::Keep(const QueueAddition& addition) {
  const Timestamp now = context_.clock.WallNow();
  Failpoint("notifications.before_queue");
  ASSIGN_OR_RETURN(const TargetCounts dropped, queue_->Add(addition, now));
  Failpoint("notifications.after_queue");
  kept_at_ = now;
  for (const auto& [target, count] : dropped) {
    context_.series.Dropped(target, count);
    LogWarning("notifications were given up: too many waited, or they were too old",
               {{"target", target}, {"count", count}});
  }
  if (!addition.rows.empty()) WakeSenders();
  return OkStatus();
}

RunKnowledge Notifier::KnowledgeOf(const Cluster& cluster) {
  return {.run = [this, &cluster](const RunId& id) { return FindRun(cluster, id); },
          .progress = context_.progress};
}

// A run that was deleted meanwhile is known as it was submitted.
StatusOr<std::shared_ptr<const Run>> Notifier::FindRun(const Cluster& cluster, const RunId& id) {
  if (auto run = cluster.FindRunOrKept(id)) return run;
  ASSIGN_OR_RETURN(const auto events, log_.ReadRun(id, cluster.last_sequence));
  auto submitted = events.empty() ? std::nullopt : SubmittedRun(events.front());
  return submitted ? std::make_shared<const Run>(*std::move(submitted)) : nullptr;
}

void Notifier::WakeSenders() {
  for (TargetSender& sender : senders_) sender.Wake();
}

StatusOr<std::vector<TargetState>> Notifier::States() {
  std::vector<TargetState> states;
  for (const TargetSender& sender : senders_) {
    ASSIGN_OR_RETURN(const QueueState queue, queue_->StateOf(sender.target().name));
    states.push_back({sender.target(), queue, sender.state()});
  }
  return states;
}

std::vector<std::string> Notifier::TargetsFor(const std::string& run_namespace) const {
  std::vector<std::string> names;
  for (const NotificationTarget& target : targets_.targets) {
    if (target.Serves(run_namespace)) names.push_back(target.name);
  }
  return names;
}

void Notifier::Test(const std::string& target, const TargetSender::OnTested& on_tested) {
  for (TargetSender& sender : senders_) {
    if (sender.target().name != target) continue;
    return sender.Test(MakeTestNotification(RandomId(20), context_.clock.WallNow()), on_tested);
  }
  on_tested(NotFound("there is no notification target '{}'; there are: {}", target,
                     fmt::join(NamesOf(targets_), ", ")));
}

}  // namespace gp::coordinator
