// FakeCoordinatorPort: a CoordinatorPort that records the agent's messages, so that tests can wait
// for them. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "lib/base/eventually.h"
#include "worker/agent/coordinator_port.h"

namespace gp::fakes {

class FakeCoordinatorPort final : public agent::CoordinatorPort {
 public:
  uint64_t Report(v1::AgentReport report, bool) override EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    report_ = std::move(report);
    changed_.NotifyAll();
    return ++reports_;
  }
  void NoteTurn() override {}
  uint64_t ReportedThrough() const override EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return holds_reports_ ? 0 : reports_;
  }
  void Tell(v1::TelemetryItem item) override EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    items_.push_back(std::move(item));
    changed_.NotifyAll();
  }

  // While held, reports are not sent, as if the stream were down.
  void HoldReports(bool hold) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    holds_reports_ = hold;
  }

  // True once the newest report meets `condition`; false after kPatience.
  bool WaitForReport(const std::function<bool(const v1::AgentReport&)>& condition)
      EXCLUDES(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    MutexLock lock(mutex_);
    while (!condition(report_)) {
      if (!changed_.WaitUntil(mutex_, deadline)) return condition(report_);
    }
    return true;
  }

  v1::AgentReport report() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return report_;
  }
  std::vector<v1::TelemetryItem> items() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return items_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  v1::AgentReport report_ GUARDED_BY(mutex_);
  uint64_t reports_ GUARDED_BY(mutex_) = 0;
  bool holds_reports_ GUARDED_BY(mutex_) = false;
  std::vector<v1::TelemetryItem> items_ GUARDED_BY(mutex_);
};

}  // namespace gp::fakes
