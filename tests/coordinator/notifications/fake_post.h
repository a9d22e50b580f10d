// FakePost: stands for the receivers of notifications; a test decides what they answer.
// Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "coordinator/notifications/webhook_client.h"

namespace gp::coordinator {

class FakePost {
 public:
  using Answer = std::function<StatusOr<WebhookReply>(const WebhookRequest&)>;

  void SetAnswer(Answer answer) {
    MutexLock lock(mutex_);
    answer_ = std::move(answer);
  }
  StatusOr<WebhookReply> operator()(const WebhookRequest& request) {
    MutexLock lock(mutex_);
    requests_.push_back(request);
    return answer_(request);
  }
  std::vector<WebhookRequest> requests() {
    MutexLock lock(mutex_);
    return requests_;
  }
  // The keys of all attempts, in order.
  std::vector<std::string> keys() {
    std::vector<std::string> keys;
    for (const WebhookRequest& request : requests()) {
      for (const std::string& header : request.headers) {
        if (header.starts_with("Idempotency-Key: ")) keys.push_back(header.substr(17));
      }
    }
    return keys;
  }

 private:
  Mutex mutex_;
  Answer answer_ GUARDED_BY(mutex_) = [](const WebhookRequest&) { return WebhookReply{200, ""}; };
  std::vector<WebhookRequest> requests_ GUARDED_BY(mutex_);
};

}  // namespace gp::coordinator
