// Attempts: when a request that failed is sent again. The pauses grow and differ by chance, so that
// many clients do not come back at the same moment; no attempt begins after the budget is used.
// Belongs to one thread.
#pragma once

#include <chrono>
#include <string>

#include "base/backoff.h"

namespace gp::object {

struct RetryOptions {
  BackoffOptions pause = {.initial = std::chrono::milliseconds(200),
                          .max = std::chrono::seconds(10)};
  // From the beginning of the first attempt to that of the last; several attempts may time out in
  // it.
  std::chrono::milliseconds budget{300'000};
};

class Attempts {
 public:
  explicit Attempts(const RetryOptions& options);

  // Waits for the next attempt; false if the budget does not reach that far.
  bool Next();

  // "3 attempts in 1.2 s"
  std::string Text() const;

 private:
  const RetryOptions options_;
  const std::chrono::steady_clock::time_point begin_;
  int count_ = 1;
};

}  // namespace gp::object
