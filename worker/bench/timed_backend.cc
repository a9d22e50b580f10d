#include "worker/bench/timed_backend.h"

#include <algorithm>
#include <utility>

namespace gp::engine {
namespace {

// Lower slots belong to the code that uses the backend.
constexpr int kFirstSlot = 256;
constexpr int kPendingMax = 512;

}  // namespace

TimedBackend::TimedBackend(std::unique_ptr<Backend> inner)
    : DecoratedBackend(std::move(inner)),
      scalar_(static_cast<double*>(this->inner().Allocate(sizeof(double)))) {
  const int slots = kFirstSlot + 2 * kPendingMax;
  for (int slot = 0; slot < slots; ++slot) this->inner().Mark(slot);  // slots have no gaps
}

void TimedBackend::Do(std::string name, Operation operation) {
  const int slot = kFirstSlot + 2 * static_cast<int>(pending_.size());
  inner().Mark(slot);
  operation();
  inner().Mark(slot + 1);
  pending_.push_back(std::move(name));
  if (pending_.size() >= static_cast<size_t>(kPendingMax)) CollectTimes();
}

void TimedBackend::CollectTimes() {
  inner().Synchronize();
  int slot = kFirstSlot;
  for (const std::string& name : pending_) {
    OperationTime& time = times_[name];
    time.name = name;
    time.calls += 1;
    time.ms += inner().MillisecondsBetween(slot, slot + 1);
    slot += 2;
  }
  pending_.clear();
}

std::vector<OperationTime> TimedBackend::TakeTimes() {
  CollectTimes();
  std::vector<OperationTime> times;
  for (auto& [name, time] : times_) times.push_back(std::move(time));
  times_.clear();
  std::sort(times.begin(), times.end(),
            [](const OperationTime& a, const OperationTime& b) { return a.ms > b.ms; });
  return times;
}

void TimedBackend::Replay(const ReplayKey&, const std::function<void()>& work) { work(); }

void TimedBackend::Upload(void* to, const void* from, int64_t bytes) {
  Do("upload", [&] { inner().Upload(to, from, bytes); });
}

void TimedBackend::Download(void* to, const void* from, int64_t bytes) {
  Do("download", [&] { inner().Download(to, from, bytes); });
}

void TimedBackend::BeginDownload(void* to, const void* from, int64_t bytes) {
  Do("download", [&] { inner().BeginDownload(to, from, bytes); });
}

}  // namespace gp::engine
