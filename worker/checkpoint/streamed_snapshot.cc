#include "worker/checkpoint/streamed_snapshot.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace gp::engine {

void StreamedSnapshot::Open(const Buffers& buffers) {
  MutexLock lock(mutex_);
  GP_CHECK(!open_);
  for (size_t b = 0; b < buffers.size(); ++b) {
    const auto count = static_cast<int64_t>(buffers[b].size());
    streams_[b].live = buffers[b];
    streams_[b].reading = 0;
    streams_[b].staged.resize(static_cast<size_t>(std::min(count, options_.chunk_size)));
    streams_[b].copies.resize(
        static_cast<size_t>((count + options_.chunk_size - 1) / options_.chunk_size));
  }
  patience_left_ = options_.patience;
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

// Reads inside one chunk. `consume` gets a private copy, so that an update does not wait for a
// storage that hangs in `consume`.
Status StreamedSnapshot::ReadPiece(int buffer, int64_t first, int64_t last,
                                   const Consume& consume) {
  std::span<const float> values;
  {
    MutexLock lock(mutex_);
    if (given_up()) {
      return DeadlineExceeded(
          "the storage took so long that training continued without this checkpoint");
    }
    values = Stage(streams_[static_cast<size_t>(buffer)], first, last);
  }
  return consume(values);
}

// Copies the values to `staged`, from the chunk's copy or from live memory.
std::span<const float> StreamedSnapshot::Stage(Stream& stream, int64_t first, int64_t last) {
  const int64_t chunk = first / options_.chunk_size;
  Advance(stream, chunk);
  const auto offset = static_cast<size_t>(first % options_.chunk_size);
  const auto count = static_cast<size_t>(last - first);
  const float* copy = stream.copies[static_cast<size_t>(chunk)].get();
  if (copy != nullptr) {
    std::copy_n(copy + offset, count, stream.staged.begin());
  } else {
    CopyLive(Live(stream, chunk).subspan(offset, count), stream.staged.data());
  }
  return std::span(stream.staged).first(count);
}

void StreamedSnapshot::Finish(int buffer) {
  MutexLock lock(mutex_);
  Stream& stream = streams_[static_cast<size_t>(buffer)];
  Advance(stream, static_cast<int64_t>(stream.copies.size()));
}

void StreamedSnapshot::Close() {
  MutexLock lock(mutex_);
  for (Stream& stream : streams_) Advance(stream, static_cast<int64_t>(stream.copies.size()));
  open_ = false;
}

void StreamedSnapshot::GiveUp() {
  MutexLock lock(mutex_);
  patience_left_ = {};
}

void StreamedSnapshot::BeforeOverwrite(int64_t first, int64_t last) {
  if (!open_ || first >= last) return;
  MutexLock lock(mutex_);
  for (Stream& stream : streams_) {
    const int64_t end = (last - 1) / options_.chunk_size;
    for (int64_t chunk = first / options_.chunk_size; chunk <= end; ++chunk) Secure(stream, chunk);
  }
}

uint64_t StreamedSnapshot::copied_bytes_most() const {
  MutexLock lock(mutex_);
  return allocated_ * static_cast<uint64_t>(options_.chunk_size) * sizeof(float);
}

void StreamedSnapshot::CopyLive(std::span<const float> live, float* to) const {
  if (options_.fetch) {
    options_.fetch(to, live.data(), std::ssize(live));
  } else {
    std::copy(live.begin(), live.end(), to);
  }
}

std::span<const float> StreamedSnapshot::Live(const Stream& stream, int64_t chunk) const {
  const auto first = static_cast<size_t>(chunk * options_.chunk_size);
  return stream.live.subspan(
      first, std::min(static_cast<size_t>(options_.chunk_size), stream.live.size() - first));
}

bool StreamedSnapshot::Pending(const Stream& stream, int64_t chunk) const {
  return open_ && !given_up() && chunk >= stream.reading &&
         stream.copies[static_cast<size_t>(chunk)] == nullptr;
}

bool StreamedSnapshot::HasRoom() const {
  const uint64_t chunk_bytes = static_cast<uint64_t>(options_.chunk_size) * sizeof(float);
  return !spare_.empty() || (allocated_ + 1) * chunk_bytes <= options_.copy_bytes_max;
}

// Copies the chunk, or waits until it has been read.
void StreamedSnapshot::Secure(Stream& stream, int64_t chunk) {
  while (Pending(stream, chunk)) {
    if (HasRoom()) return Copy(stream, chunk);
    const auto start = std::chrono::steady_clock::now();
    changed_.WaitUntil(mutex_, start + patience_left_);
    patience_left_ -= std::chrono::steady_clock::now() - start;
  }
}

void StreamedSnapshot::Copy(Stream& stream, int64_t chunk) {
  std::unique_ptr<float[]> copy;
  if (spare_.empty()) {
    copy = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(options_.chunk_size));
    ++allocated_;
  } else {
    copy = std::move(spare_.back());
    spare_.pop_back();
  }
  CopyLive(Live(stream, chunk), copy.get());
  stream.copies[static_cast<size_t>(chunk)] = std::move(copy);
}

// Marks the chunks before `chunk` as done; the memory of their copies is reused.
void StreamedSnapshot::Advance(Stream& stream, int64_t chunk) {
  for (; stream.reading < chunk; ++stream.reading) {
    std::unique_ptr<float[]> copy = std::move(stream.copies[static_cast<size_t>(stream.reading)]);
    if (copy != nullptr) spare_.push_back(std::move(copy));
  }
  changed_.NotifyAll();
}

}  // namespace gp::engine
