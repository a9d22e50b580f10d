#include "coordinator/notifications/target_sender.h"

#include <utility>

#include "base/failpoint.h"
#include "base/log.h"
#include "coordinator/notifications/signature.h"

namespace gp::coordinator {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kTestsWaitingMax = 8;

// The log's messages about failures.
constexpr char kNotAccepted[] = "a notification was not accepted; it is sent again later";
constexpr char kCannotRead[] = "cannot read the queue of notifications; trying again";
constexpr char kCannotWrite[] = "cannot write the queue of notifications; trying again";

// OK when the receiver has taken the notification.
Status Acceptance(const StatusOr<WebhookReply>& reply) {
  RETURN_IF_ERROR(reply.status());
  if (reply->accepted()) return OkStatus();
  const bool redirects = reply->status >= 300 && reply->status < 400;
  return Unavailable("the receiver answered {}{}{}{}", reply->status,
                     redirects ? ", a redirect, which is not followed" : "",
                     reply->excerpt.empty() ? "" : ": ", reply->excerpt);
}

}  // namespace

TargetSender::TargetSender(NotificationTarget target, NotificationQueue& queue,
                           NotificationSeries& series, const Clock& clock, SenderOptions options)
    : target_(std::move(target)),
      queue_(queue),
      series_(series),
      clock_(clock),
      options_(std::move(options)),
      random_(std::random_device()()) {}

TargetSender::~TargetSender() { Stop(); }

void TargetSender::Start() {
  thread_ = std::thread([this] { Loop(); });
}

void TargetSender::BeginStop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
}

void TargetSender::Stop() {
  BeginStop();
  if (thread_.joinable()) thread_.join();
  std::deque<PendingTest> tests;
  {
    MutexLock lock(mutex_);
    tests.swap(tests_);
  }
  for (const PendingTest& test : tests) test.on_tested(Unavailable("the coordinator stops"));
}

void TargetSender::Wake() {
  MutexLock lock(mutex_);
  may_have_more_ = true;
  changed_.NotifyAll();
}

void TargetSender::Test(Notification notification, const OnTested& on_tested) {
  Status refusal;
  {
    MutexLock lock(mutex_);
    if (stopped_) {
      refusal = Unavailable("the coordinator stops");
    } else if (tests_.size() >= kTestsWaitingMax) {
      refusal = ResourceExhausted("{} tests of target '{}' wait already; try again later",
                                  kTestsWaitingMax, target_.name);
    } else {
      tests_.push_back({std::move(notification), on_tested});
      changed_.NotifyAll();
    }
  }
  if (!refusal.ok()) on_tested(refusal);
}

SenderState TargetSender::state() const {
  MutexLock lock(mutex_);
  return state_;
}

bool TargetSender::HasWork() const {
  return !tests_.empty() || (may_have_more_ && SteadyClock::now() >= retry_at_);
}

bool TargetSender::AwaitWork(std::optional<PendingTest>& test) {
  MutexLock lock(mutex_);
  while (!stopped_ && !HasWork()) {
    if (may_have_more_) {
      changed_.WaitUntil(mutex_, retry_at_);
    } else {
      changed_.Wait(mutex_);
    }
  }
  if (stopped_) return false;
  if (!tests_.empty()) {
    test = std::move(tests_.front());
    tests_.pop_front();
  } else {
    may_have_more_ = false;  // SendNext sets it again if it finds something
  }
  return true;
}

void TargetSender::Loop() {
  while (true) {
    std::optional<PendingTest> test;
    if (!AwaitWork(test)) return;
    if (test) {
      test->on_tested(Send(test->notification.key, test->notification.body));
    } else {
      SendNext();
    }
  }
}

StatusOr<WebhookReply> TargetSender::Send(const std::string& key, const std::string& body) {
  WebhookRequest request{.body = BodyFor(target_.kind, body),
                         .allow_private_addresses = target_.allow_private_addresses};
  ASSIGN_OR_RETURN(request.url, ReadUrl(target_));
  if (target_.kind == TargetKind::kWebhook) {
    ASSIGN_OR_RETURN(const std::string secret, ReadSecret(target_));
    const int64_t seconds =
        std::chrono::floor<std::chrono::seconds>(clock_.WallNow()).time_since_epoch().count();
    request.headers = {"Idempotency-Key: " + key, fmt::format("X-Gp-Timestamp: {}", seconds),
                       "X-Gp-Signature: " + SignatureOf(secret, seconds, request.body)};
  }
  return options_.post(request, [this] { return stopped_.load(); });
}

Status TargetSender::RemoveAccepted() {
  if (!accepted_id_) return OkStatus();
  RETURN_IF_ERROR(queue_.Sent(*accepted_id_));
  accepted_id_.reset();
  NoteSent();
  return OkStatus();
}

void TargetSender::SendNext() {
  const Status removed = RemoveAccepted();
  if (!removed.ok()) return NoteFailure(removed, kCannotWrite);
  const auto next = queue_.Next(target_.name);
  if (!next.ok()) return NoteFailure(next.status(), kCannotRead);
  if (!*next) return;
  const QueuedNotification& notification = **next;
  Failpoint("notifications.before_send");
  const Status accepted = Acceptance(Send(notification.key, notification.body));
  Failpoint("notifications.after_send");
  if (stopped_ && !accepted.ok()) return;
  if (!accepted.ok()) {
    // If this fails, the same notification is tried next, instead of another one.
    const Status moved_back = queue_.Failed(notification.id);
    return moved_back.ok() ? NoteFailure(accepted, kNotAccepted)
                           : NoteFailure(moved_back, kCannotWrite);
  }
  accepted_id_ = notification.id;
  const Status noted = RemoveAccepted();
  if (!noted.ok()) NoteFailure(noted, kCannotWrite);
}

void TargetSender::NoteSent() {
  series_.Sent(target_.name);
  MutexLock lock(mutex_);
  if (state_.failures_in_a_row > 0) {
    LogInfo("notifications are accepted again",
            {{"target", target_.name}, {"after_failures", state_.failures_in_a_row}});
  }
  ++state_.sent;
  state_.failures_in_a_row = 0;
  state_.last_sent_at = clock_.WallNow();
  may_have_more_ = true;
}

void TargetSender::NoteFailure(const Status& why, const char* what) {
  series_.Failed(target_.name);
  const std::string error = gp::Message(why);
  const double unit_random = std::uniform_real_distribution<double>(0, 1)(random_);
  MutexLock lock(mutex_);
  if (state_.failures_in_a_row == 0 || state_.last_error != error) {
    LogWarning(what, {{"target", target_.name}, {"error", error}});
  }
  retry_at_ =
      SteadyClock::now() + BackoffDelay(options_.backoff, state_.failures_in_a_row, unit_random);
  ++state_.failures_in_a_row;
  state_.last_error = error;
  state_.last_error_at = clock_.WallNow();
  may_have_more_ = true;
}

}  // namespace gp::coordinator
