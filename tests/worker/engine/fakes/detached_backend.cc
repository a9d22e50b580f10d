#include "worker/engine/fakes/detached_backend.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace gp::engine {
namespace {

constexpr int64_t kPageBytes = 4096;

}  // namespace

class DetachedBackend::Access {
 public:
  explicit Access(DetachedBackend& backend) : backend_(backend) {
    MutexLock lock(backend_.mutex_);
    if (backend_.accesses_++ == 0) backend_.Protect(PROT_READ | PROT_WRITE);
  }
  ~Access() {
    MutexLock lock(backend_.mutex_);
    if (--backend_.accesses_ == 0) backend_.Protect(PROT_NONE);
  }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

 private:
  DetachedBackend& backend_;
};

DetachedBackend::DetachedBackend(const CpuBackendOptions& options, bool graph)
    : DecoratedBackend(MakeCpuBackend(options)), graph_(graph) {
  scalar_ = static_cast<double*>(Allocate(sizeof(double)));
  allocated_bytes_ = inner().allocated_bytes();  // the scalar is part of the workspace
}

DetachedBackend::~DetachedBackend() {
  MutexLock lock(mutex_);
  for (const Region& region : regions_) munmap(region.data, region.bytes);
}

void* DetachedBackend::Allocate(int64_t bytes) {
  RefuseInsideReplay("Allocate");
  const int64_t rounded = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  const auto size = static_cast<size_t>(rounded > 0 ? rounded : kPageBytes);
  void* data = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  MutexLock lock(mutex_);
  regions_.push_back({data, size});
  allocated_bytes_ += bytes;
  return data;
}

void* DetachedBackend::AllocateHost(int64_t bytes) {
  RefuseInsideReplay("AllocateHost");
  return inner().AllocateHost(bytes);
}

void DetachedBackend::Upload(void* to, const void* from, int64_t bytes) {
  RefuseInsideReplay("Upload");
  const Access access(*this);
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void DetachedBackend::Download(void* to, const void* from, int64_t bytes) {
  RefuseInsideReplay("Download");
  const Access access(*this);
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void DetachedBackend::BeginDownload(void* to, const void* from, int64_t bytes) {
  downloaded_to_ = to;
  downloaded_.resize(static_cast<size_t>(bytes));
  Download(downloaded_.data(), from, bytes);
}

void DetachedBackend::AwaitDownload() {
  RefuseInsideReplay("AwaitDownload");
  std::memcpy(downloaded_to_, downloaded_.data(), downloaded_.size());
}

void DetachedBackend::Fetch(void* to, const void* from, int64_t bytes) {
  const Access access(*this);
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void DetachedBackend::Replay(const ReplayKey& key, const std::function<void()>& work) {
  RefuseInsideReplay("Replay");
  if (!graph_) return work();
  const auto record = records_.find(key);
  if (record != records_.end()) {
    ++replays_;
    for (const Operation& operation : record->second) Do("replayed", operation);
    return;
  }
  recording_ = &records_[key];
  inside_replay_ = true;
  work();
  inside_replay_ = false;
  recording_ = nullptr;
}

void DetachedBackend::Mark(int slot) {
  RefuseInsideReplay("Mark");
  inner().Mark(slot);
}

void DetachedBackend::AttentionForward(const CachedAttention& args) {
  RefuseInsideReplay("AttentionForward(CachedAttention)");
  DecoratedBackend::AttentionForward(args);
}

void DetachedBackend::Do(std::string, Operation operation) {
  {
    const Access access(*this);
    operation();
  }
  if (recording_ != nullptr) recording_->push_back(std::move(operation));
}

void DetachedBackend::RefuseInsideReplay(const char* what) const {
  if (inside_replay_) throw std::logic_error(std::string(what) + " inside a Replay");
}

void DetachedBackend::Protect(int protection) {
  for (const Region& region : regions_) mprotect(region.data, region.bytes, protection);
}

}  // namespace gp::engine
