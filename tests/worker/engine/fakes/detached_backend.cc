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
    : inner_(MakeCpuBackend(options)), graph_(graph) {
  scalar_ = static_cast<double*>(Allocate(sizeof(double)));
  allocated_bytes_ = inner_->allocated_bytes();  // the scalar is part of the workspace
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
  return inner_->AllocateHost(bytes);
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

void DetachedBackend::Copy(void* to, const void* from, int64_t bytes) {
  Do([=, this] { inner_->Copy(to, from, bytes); });
}

void DetachedBackend::Replay(const ReplayKey& key, const std::function<void()>& work) {
  RefuseInsideReplay("Replay");
  if (!graph_) return work();
  const auto record = records_.find(key);
  if (record != records_.end()) {
    ++replays_;
    for (const Operation& operation : record->second) Do(operation);
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
  inner_->Mark(slot);
}

double DetachedBackend::MillisecondsBetween(int first, int second) {
  return inner_->MillisecondsBetween(first, second);
}

void DetachedBackend::Forward(const LinearForward& args) {
  Do([=, this] { inner_->Forward(args); });
}
void DetachedBackend::Pack(const WeightRows& args) {
  Do([=, this] { inner_->Pack(args); });
}
void DetachedBackend::BackwardInput(const LinearBackwardInput& args) {
  Do([=, this] { inner_->BackwardInput(args); });
}
void DetachedBackend::BackwardWeight(const LinearBackwardWeight& args) {
  Do([=, this] { inner_->BackwardWeight(args); });
}
void DetachedBackend::AttentionForward(const AttentionShape& shape, Buffer out, float* lse,
                                       Buffer qkv, const Dropout& dropout) {
  Do([=, this] { inner_->AttentionForward(shape, out, lse, qkv, dropout); });
}
void DetachedBackend::AttentionForward(const CachedAttention& args) {
  RefuseInsideReplay("AttentionForward(CachedAttention)");
  Do([&] { inner_->AttentionForward(args); });
}
void DetachedBackend::AttentionBackward(const AttentionShape& shape, Buffer dqkv, Buffer dout,
                                        Buffer out, const float* lse, Buffer qkv,
                                        const Dropout& dropout) {
  Do([=, this] { inner_->AttentionBackward(shape, dqkv, dout, out, lse, qkv, dropout); });
}
void DetachedBackend::Forward(const StoredAttention& args, Buffer out) {
  Do([=, this] { inner_->Forward(args, out); });
}
void DetachedBackend::Backward(const StoredAttention& args, Buffer dqkv, Buffer dout) {
  Do([=, this] { inner_->Backward(args, dqkv, dout); });
}
void DetachedBackend::Forward(const LayerNorm& args) {
  Do([=, this] { inner_->Forward(args); });
}
void DetachedBackend::Backward(const LayerNormBackward& args) {
  Do([=, this] { inner_->Backward(args); });
}
void DetachedBackend::ResidualLayerNorm(Buffer residual, Buffer in, Buffer branch,
                                        const Dropout& dropout, const LayerNorm& args) {
  Do([=, this] { inner_->ResidualLayerNorm(residual, in, branch, dropout, args); });
}
void DetachedBackend::ResidualLayerNormBackward(const LayerNormBackward& args,
                                                const BranchGradient& branch) {
  Do([=, this] { inner_->ResidualLayerNormBackward(args, branch); });
}
void DetachedBackend::Residual(int64_t rows, int64_t channels, Buffer out, Buffer in, Buffer branch,
                               const Dropout& dropout) {
  Do([=, this] { inner_->Residual(rows, channels, out, in, branch, dropout); });
}
void DetachedBackend::ResidualBackward(int64_t rows, int64_t channels, Buffer dbranch, Buffer dout,
                                       const Dropout& dropout) {
  Do([=, this] { inner_->ResidualBackward(rows, channels, dbranch, dout, dropout); });
}
void DetachedBackend::GeluForward(int64_t count, runspec::Gelu kind, Buffer out, Buffer in) {
  Do([=, this] { inner_->GeluForward(count, kind, out, in); });
}
void DetachedBackend::GeluBackward(int64_t count, runspec::Gelu kind, Buffer dy, Buffer in) {
  Do([=, this] { inner_->GeluBackward(count, kind, dy, in); });
}
void DetachedBackend::EmbeddingForward(int64_t sequences, int64_t length, int64_t channels,
                                       Buffer out, const int32_t* tokens, const float* wte,
                                       const float* wpe, const Dropout& dropout) {
  Do([=, this] {
    inner_->EmbeddingForward(sequences, length, channels, out, tokens, wte, wpe, dropout);
  });
}
void DetachedBackend::EmbeddingBackward(int64_t sequences, int64_t length, int64_t channels,
                                        float* dwte, float* dwpe, Buffer dout,
                                        const int32_t* tokens, const Dropout& dropout) {
  Do([=, this] {
    inner_->EmbeddingBackward(sequences, length, channels, dwte, dwpe, dout, tokens, dropout);
  });
}
void DetachedBackend::Forward(const CrossEntropyLoss& args) {
  Do([=, this] { inner_->Forward(args); });
}
void DetachedBackend::Backward(const CrossEntropyGradient& args) {
  Do([=, this] { inner_->Backward(args); });
}
void DetachedBackend::ComputeGradientFactor(const GradientFactor& args) {
  Do([=, this] { inner_->ComputeGradientFactor(args); });
}
void DetachedBackend::Update(const AdamWUpdate& args) {
  Do([=, this] { inner_->Update(args); });
}
void DetachedBackend::SumOfSquares(double* sum, const float* values, int64_t count) {
  Do([=, this] { inner_->SumOfSquares(sum, values, count); });
}
void DetachedBackend::Zero(void* data, int64_t bytes) {
  Do([=, this] { inner_->Zero(data, bytes); });
}
void DetachedBackend::Round(int64_t count, Buffer out, const float* in,
                            const StochasticRounding& rounding) {
  Do([=, this] { inner_->Round(count, out, in, rounding); });
}
void DetachedBackend::Axpby(int64_t count, float* out, float a, const float* x, float b,
                            const float* y) {
  Do([=, this] { inner_->Axpby(count, out, a, x, b, y); });
}

void DetachedBackend::Do(Operation operation) {
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
