#include "coordinator/service/work_pool.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace gp::coordinator {
namespace {

// The pool's threads have a lower priority than gRPC's threads, which read the agents' reports.
constexpr int kNiceness = 5;

void YieldToOthers() {
  // Changes the niceness of this thread only: Linux keeps it per thread. If the call fails, the
  // thread keeps its priority, and everything else works.
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNiceness);
}

}  // namespace

WorkPool::WorkPool(WorkPoolOptions options) : options_(std::move(options)) {
  GP_CHECK(options_.threads > 0);
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Loop(); });
}

WorkPool::~WorkPool() {
  Stop(std::chrono::nanoseconds(0));
  threads_.clear();
}

void WorkPool::Post(const std::string& caller, std::shared_ptr<Work> work) {
  std::vector<Refusal> refusals;
  {
    MutexLock lock(mutex_);
    Queue& queue = waiting_[caller];
    if (queue.empty()) turns_.push_back(caller);
    queue.push_back(std::move(work));
    ++waiting_count_;
    refusals = stopped_ ? DropAll() : MakeRoom(caller);
    // Not NotifyOne: glibc before 2.41 may lose the signal where several threads wait (bug 25847).
    posted_.NotifyAll();
  }
  for (const Refusal& refusal : refusals) refusal.work->Refuse(refusal.why);
}

std::vector<WorkPool::Refusal> WorkPool::MakeRoom(const std::string& caller) {
  if (waiting_.at(caller).size() > options_.waiting_per_caller_max) {
    return {DropNewest(caller,
                       Unavailable("{} requests of this connection wait for {} already; wait for "
                                   "their answers, then try again",
                                   options_.waiting_per_caller_max, options_.name))};
  }
  if (waiting_count_ <= options_.waiting_max) return {};
  const auto most = std::max_element(
      waiting_.begin(), waiting_.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  // When several callers have the most, the caller that came last is refused.
  const bool alone = most->second.size() == waiting_.at(caller).size();
  return {DropNewest(alone ? caller : most->first,
                     Unavailable("the coordinator is busy: {} requests wait for {}; try again",
                                 options_.waiting_max, options_.name))};
}

WorkPool::Refusal WorkPool::DropNewest(const std::string& caller, Status why) {
  const auto found = waiting_.find(caller);
  Refusal refusal{std::move(found->second.back()), std::move(why)};
  found->second.pop_back();
  --waiting_count_;
  if (!found->second.empty()) return refusal;
  std::erase(turns_, found->first);
  waiting_.erase(found);
  return refusal;
}

bool WorkPool::Withdraw(const std::string& caller, const Work& work) {
  MutexLock lock(mutex_);
  const auto found = waiting_.find(caller);
  if (found == waiting_.end()) return false;
  if (std::erase_if(found->second, [&](const auto& each) { return each.get() == &work; }) == 0) {
    return false;
  }
  --waiting_count_;
  if (!found->second.empty()) return true;
  std::erase(turns_, found->first);
  waiting_.erase(found);
  return true;
}

size_t WorkPool::waiting() const {
  MutexLock lock(mutex_);
  return waiting_count_;
}

void WorkPool::Loop() {
  YieldToOthers();
  while (std::shared_ptr<Work> work = Next()) {
    work->Run();
    work.reset();  // destroyed before it counts as finished
    MutexLock lock(mutex_);
    --running_count_;
    finished_.NotifyAll();
  }
}

std::shared_ptr<Work> WorkPool::Next() {
  MutexLock lock(mutex_);
  while (!stopped_ && turns_.empty()) posted_.Wait(mutex_);
  if (stopped_) return nullptr;
  const auto found = waiting_.find(turns_.front());
  turns_.pop_front();
  std::shared_ptr<Work> work = std::move(found->second.front());
  found->second.pop_front();
  --waiting_count_;
  ++running_count_;
  if (found->second.empty()) {
    waiting_.erase(found);
  } else {
    turns_.push_back(found->first);
  }
  return work;
}

std::vector<WorkPool::Refusal> WorkPool::DropAll() {
  std::vector<Refusal> refusals;
  for (auto& [caller, queue] : waiting_) {
    for (auto& work : queue)
      refusals.push_back({std::move(work), Unavailable("the coordinator is stopping")});
  }
  waiting_.clear();
  turns_.clear();
  waiting_count_ = 0;
  return refusals;
}

bool WorkPool::Stop(std::chrono::nanoseconds grace) {
  const auto deadline = std::chrono::steady_clock::now() + grace;
  std::vector<Refusal> refusals;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    refusals = DropAll();
    posted_.NotifyAll();
  }
  for (const Refusal& refusal : refusals) refusal.work->Refuse(refusal.why);
  MutexLock lock(mutex_);
  while (running_count_ > 0) {
    if (!finished_.WaitUntil(mutex_, deadline)) break;
  }
  return running_count_ == 0;
}

}  // namespace gp::coordinator
