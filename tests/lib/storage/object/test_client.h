// Clients of a ScriptedServer or a FaultyProxy for tests, with short pauses between attempts.
#pragma once

#include <string>

#include "storage/object/object_storage.h"

namespace gp::object {

// Credentials that a test gives; `next` replaces them when the server has refused them.
class FixedCredentials : public CredentialSource {
 public:
  explicit FixedCredentials(Credentials credentials) : FixedCredentials(credentials, credentials) {}
  FixedCredentials(Credentials credentials, Credentials next)
      : current_(std::move(credentials)), next_(std::move(next)) {}

  StatusOr<Credentials> Get() override {
    const MutexLock lock(mutex_);
    return current_;
  }
  StatusOr<Credentials> Replace(const Credentials&) override {
    const MutexLock lock(mutex_);
    current_ = next_;
    return current_;
  }

 private:
  Mutex mutex_;
  Credentials current_ GUARDED_BY(mutex_);
  const Credentials next_;
};

inline RetryOptions ShortPauses(std::chrono::milliseconds budget) {
  return {.pause = {.initial = std::chrono::milliseconds(1), .max = std::chrono::milliseconds(8)},
          .budget = budget};
}

// Of the bucket "bucket" at http://`host`. The budget is for tests in which requests succeed in the
// end.
inline ClientOptions OptionsAt(const std::string& host,
                               std::chrono::milliseconds budget = std::chrono::seconds(60)) {
  return {.bucket = "bucket",
          .address = {.origin = "http://" + host, .host = host, .base_path = "/bucket"},
          .region = "us-east-1",
          .transport = {},
          .retry = ShortPauses(budget)};
}

inline const Credentials kTestCredentials{
    .access_key_id = "AKID", .secret_access_key = "hidden-secret", .session_token = "hidden-token"};

}  // namespace gp::object
