#include "worker/engine/checkpoint/streamed_snapshot.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace gp::engine {

void StreamedSnapshot::Open(const Buffers& buffers) {
  MutexLock lock(mutex_);
  GP_CHECK(!open_);
  buffers_ = buffers;
  const auto count = static_cast<int64_t>(buffers[0].size());
  chunks_per_buffer_ = (count + options_.chunk_size - 1) / options_.chunk_size;
  copies_.resize(static_cast<size_t>(chunks_per_buffer_ * kBufferCount));
  reading_ = 0;
  given_up_ = false;
  open_ = true;
}

Status StreamedSnapshot::Read(int buffer, int64_t first, int64_t last, const Consume& consume) {
  while (first < last) {
    const int64_t chunk_end = (first / options_.chunk_size + 1) * options_.chunk_size;
    const int64_t end = std::min(last, chunk_end);
    RETURN_IF_ERROR(ReadPiece(buffer, first, end, consume));
    first = end;
  }
  return OkStatus();
}

// Inside one chunk: from its copy, or from live memory, which is pinned meanwhile.
Status StreamedSnapshot::ReadPiece(int buffer, int64_t first, int64_t last,
                                   const Consume& consume) {
  std::span<const float> values;
  {
    MutexLock lock(mutex_);
    const int64_t chunk = ChunkOf(buffer, first);
    Advance(chunk);
    const auto offset = static_cast<size_t>(first % options_.chunk_size);
    const auto count = static_cast<size_t>(last - first);
    const float* copy = copies_[static_cast<size_t>(chunk)].get();
    if (copy == nullptr) pinned_ = chunk;
    values = copy != nullptr ? std::span(copy + offset, count) : Live(chunk).subspan(offset, count);
  }
  const Status consumed = consume(values);
  MutexLock lock(mutex_);
  pinned_ = -1;
  changed_.NotifyAll();
  if (!given_up_) return consumed;
  return DeadlineExceeded("the storage took so long that training went on without this checkpoint");
}

void StreamedSnapshot::Close() {
  MutexLock lock(mutex_);
  Advance(chunks_per_buffer_ * kBufferCount);
  open_ = false;
  changed_.NotifyAll();
}

void StreamedSnapshot::BeforeOverwrite(int64_t first, int64_t last) {
  if (!open_ || first >= last) return;
  MutexLock lock(mutex_);
  for (int buffer = 0; buffer < kBufferCount; ++buffer) {
    const int64_t end = ChunkOf(buffer, last - 1);
    for (int64_t chunk = ChunkOf(buffer, first); chunk <= end; ++chunk) Secure(chunk);
  }
}

uint64_t StreamedSnapshot::copied_bytes_most() const {
  MutexLock lock(mutex_);
  return allocated_ * static_cast<uint64_t>(options_.chunk_size) * sizeof(float);
}

int64_t StreamedSnapshot::ChunkOf(int buffer, int64_t position) const {
  return buffer * chunks_per_buffer_ + position / options_.chunk_size;
}

std::span<const float> StreamedSnapshot::Live(int64_t chunk) const {
  const std::span<const float> buffer = buffers_[static_cast<size_t>(chunk / chunks_per_buffer_)];
  const auto first = static_cast<size_t>(chunk % chunks_per_buffer_ * options_.chunk_size);
  return buffer.subspan(first,
                        std::min(static_cast<size_t>(options_.chunk_size), buffer.size() - first));
}

bool StreamedSnapshot::Pending(int64_t chunk) const {
  return open_ && !given_up_ && chunk >= reading_ && copies_[static_cast<size_t>(chunk)] == nullptr;
}

bool StreamedSnapshot::HasRoom() const {
  const uint64_t chunk_bytes = static_cast<uint64_t>(options_.chunk_size) * sizeof(float);
  return !spare_.empty() || (allocated_ + 1) * chunk_bytes <= options_.copy_bytes_max;
}

// Copies the chunk, or waits until it has been read.
void StreamedSnapshot::Secure(int64_t chunk) {
  const auto deadline = std::chrono::steady_clock::now() + options_.patience;
  while (Pending(chunk)) {
    if (pinned_ != chunk && HasRoom()) return Copy(chunk);
    if (!changed_.WaitUntil(mutex_, deadline)) given_up_ = Pending(chunk);
  }
}

void StreamedSnapshot::Copy(int64_t chunk) {
  std::unique_ptr<float[]> copy;
  if (spare_.empty()) {
    copy = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(options_.chunk_size));
    ++allocated_;
  } else {
    copy = std::move(spare_.back());
    spare_.pop_back();
  }
  const std::span<const float> values = Live(chunk);
  std::copy(values.begin(), values.end(), copy.get());
  copies_[static_cast<size_t>(chunk)] = std::move(copy);
}

// What lies before `chunk` is done with; its copies serve again.
void StreamedSnapshot::Advance(int64_t chunk) {
  for (; reading_ < chunk; ++reading_) {
    auto& copy = copies_[static_cast<size_t>(reading_)];
    if (copy != nullptr) spare_.push_back(std::move(copy));
    copy = nullptr;
  }
  changed_.NotifyAll();
}

}  // namespace gp::engine
