// StreamedSnapshot: the training state as it was when a save began, while training continues. The
// writing threads read it piece by piece, in order, from live memory; before the optimizer
// overwrites a range that was not read yet, this range is copied. The memory for copies has a
// limit; at the limit the optimizer waits for the writers. There is never a copy of everything.
// When the live memory is not host memory, `fetch` reads it. The three buffers are cut into equal
// chunks. Every method may be called from any thread, Read of one buffer from one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"

namespace gp::engine {

class StreamedSnapshot {
 public:
  static constexpr int kBufferCount = 3;  // parameters, first and second moment
  static constexpr int64_t kChunkSize = int64_t{1} << 20;
  using Buffers = std::array<std::span<const float>, kBufferCount>;
  using Consume = std::function<Status(std::span<const float> values)>;
  // Copies `count` values of live memory to memory of the host. Any thread calls, one at a time.
  using Fetch = std::function<void(float* to, const float* from, int64_t count)>;

  struct Options {
    uint64_t copy_bytes_max = 0;
    // The longest time that all overwrites together wait for the writers. Then the snapshot is
    // given up, so that a storage that hangs does not stop the training.
    std::chrono::nanoseconds patience = std::chrono::seconds(60);
    int64_t chunk_size = kChunkSize;  // values
    Fetch fetch;                      // absent: the host reads live memory
  };

  explicit StreamedSnapshot(const Options& options) : options_(options) {}

  // The current contents of `buffers`, which have equal lengths, become the snapshot. REQUIRES: not
  // open.
  void Open(const Buffers& buffers) EXCLUDES(mutex_);

  // Passes values [first, last) of a buffer to `consume`, in pieces. Each call begins at or after
  // the end of the buffer's previous call; earlier values will not be read again. DeadlineExceeded
  // when the snapshot was given up.
  Status Read(int buffer, int64_t first, int64_t last, const Consume& consume) EXCLUDES(mutex_);

  // Nothing more of this buffer will be read, so overwrites do not wait for it any more.
  void Finish(int buffer) EXCLUDES(mutex_);
  void Close() EXCLUDES(mutex_);

  // Ends the snapshot: the buffers are not read any more and may be freed.
  void GiveUp() EXCLUDES(mutex_);

  // Returns when values [first, last) of every buffer may change.
  void BeforeOverwrite(int64_t first, int64_t last) EXCLUDES(mutex_);

  uint64_t copied_bytes_most() const EXCLUDES(mutex_);

 private:
  // The state of one buffer. Chunks are numbered from 0 in each buffer.
  struct Stream {
    std::span<const float> live;
    int64_t reading = 0;                           // chunks before this one are done
    std::vector<std::unique_ptr<float[]>> copies;  // by chunk
    std::vector<float> staged;                     // values that the reader is passing on
  };

  void CopyLive(std::span<const float> live, float* to) const;
  std::span<const float> Live(const Stream& stream, int64_t chunk) const;
  bool Pending(const Stream& stream, int64_t chunk) const REQUIRES(mutex_);
  bool given_up() const REQUIRES(mutex_) { return patience_left_ <= patience_left_.zero(); }
  bool HasRoom() const REQUIRES(mutex_);
  std::span<const float> Stage(Stream& stream, int64_t first, int64_t last) REQUIRES(mutex_);
  void Secure(Stream& stream, int64_t chunk) REQUIRES(mutex_);
  void Copy(Stream& stream, int64_t chunk) REQUIRES(mutex_);
  void Advance(Stream& stream, int64_t chunk) REQUIRES(mutex_);
  Status ReadPiece(int buffer, int64_t first, int64_t last, const Consume& consume)
      EXCLUDES(mutex_);

  const Options options_;
  std::atomic<bool> open_ = false;  // written under the mutex
  mutable Mutex mutex_;
  CondVar changed_;
  std::array<Stream, kBufferCount> streams_ GUARDED_BY(mutex_);
  std::chrono::nanoseconds patience_left_ GUARDED_BY(mutex_){};
  std::vector<std::unique_ptr<float[]>> spare_ GUARDED_BY(mutex_);
  uint64_t allocated_ GUARDED_BY(mutex_) = 0;  // chunks
};

}  // namespace gp::engine
