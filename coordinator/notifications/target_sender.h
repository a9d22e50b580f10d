// TargetSender: sends the queued notifications of one target, on a thread of its own, so that a
// receiver that hangs delays no other. After a failure it waits, longer each time, and begins again
// with the next notification. Each is removed from the queue only when the receiver has accepted
// it, so it may arrive twice, with the same key. Start and Stop from one thread; every other method
// may be called from any.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "coordinator/notifications/notification.h"
#include "coordinator/notifications/notification_queue.h"
#include "coordinator/notifications/notification_target.h"
#include "coordinator/notifications/webhook_client.h"
#include "coordinator/telemetry/notification_series.h"

namespace gp::coordinator {

struct SenderOptions {
  BackoffOptions backoff = {.initial = std::chrono::seconds(1), .max = std::chrono::minutes(5)};
  std::function<StatusOr<WebhookReply>(const WebhookRequest&, const std::function<bool()>& stopped)>
      post = [](const WebhookRequest& request, const std::function<bool()>& stopped) {
        return PostWebhook(request, stopped);
      };
};

// Counts and errors of the sender since the start of this process.
struct SenderState {
  int64_t sent = 0;
  int failures_in_a_row = 0;
  std::string last_error;  // of the last failure, also when a later attempt succeeded
  std::optional<Timestamp> last_error_at;
  std::optional<Timestamp> last_sent_at;
};

class TargetSender {
 public:
  using OnTested = std::function<void(const StatusOr<WebhookReply>&)>;

  // Every reference must outlive this object.
  TargetSender(NotificationTarget target, NotificationQueue& queue, NotificationSeries& series,
               const Clock& clock, SenderOptions options = {});
  ~TargetSender();

  void Start();
  // Ends a request in progress, without waiting for it.
  void BeginStop();
  // BeginStop, and waits. Idempotent.
  void Stop();

  // There may be something new in the queue.
  void Wake();
  // Sends this next, and reports the receiver's answer on the sender's thread. Unavailable when the
  // sender stops first.
  void Test(Notification notification, const OnTested& on_tested);

  const NotificationTarget& target() const { return target_; }
  SenderState state() const;

 private:
  struct PendingTest {
    Notification notification;
    OnTested on_tested;
  };

  void Loop();
  // Waits for work. False when the sender stops.
  bool AwaitWork(std::optional<PendingTest>& test);
  bool HasWork() const REQUIRES(mutex_);
  // One attempt to send the next notification of the queue, if there is one.
  void SendNext();
  // Removes the notification that was accepted last from the queue.
  Status RemoveAccepted();
  // OK when the receiver accepted it.
  StatusOr<WebhookReply> Send(const std::string& key, const std::string& body);
  void NoteSent();
  void NoteFailure(const Status& why, const char* what);

  const NotificationTarget target_;
  NotificationQueue& queue_;
  NotificationSeries& series_;
  const Clock& clock_;
  const SenderOptions options_;
  // Used by the sender's thread only:
  std::mt19937_64 random_;
  // Accepted by the receiver, but still in the queue, which could not be written. It is removed
  // before the next one is sent, so it is not sent again.
  std::optional<int64_t> accepted_id_;

  std::atomic<bool> stopped_ = false;
  mutable Mutex mutex_;
  CondVar changed_;
  bool may_have_more_ GUARDED_BY(mutex_) = true;
  std::chrono::steady_clock::time_point retry_at_ GUARDED_BY(mutex_);
  std::deque<PendingTest> tests_ GUARDED_BY(mutex_);
  SenderState state_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace gp::coordinator
