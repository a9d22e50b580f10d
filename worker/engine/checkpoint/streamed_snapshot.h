// StreamedSnapshot: the training state as it was when a save began, while training goes on. The
// writing thread reads it piece by piece, in order, from live memory; before the optimizer
// overwrites a range that was not read yet, that range is copied, into memory with a cap, and when
// the cap is reached the optimizer waits for the writer. A copy of everything is never made. The
// three buffers are cut into equal chunks. Open, Close and BeforeOverwrite may be called from any
// thread, Read from one at a time.
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

  struct Options {
    uint64_t copy_bytes_max = 0;
    // The longest that an overwrite waits for the writer. Then the snapshot is given up, so that a
    // storage that hangs stops no training.
    std::chrono::nanoseconds patience = std::chrono::seconds(60);
    int64_t chunk_size = kChunkSize;  // values
  };

  explicit StreamedSnapshot(const Options& options) : options_(options) {}

  // From here on the contents of `buffers`, equally long, are the snapshot. REQUIRES: not open.
  void Open(const Buffers& buffers) EXCLUDES(mutex_);

  // Passes values [first, last) of a buffer to `consume`, in pieces. Each call begins at or after
  // the end of the one before; what lies before it will not be read again. DeadlineExceeded when
  // the snapshot was given up.
  Status Read(int buffer, int64_t first, int64_t last, const Consume& consume) EXCLUDES(mutex_);

  // Nothing more will be read: nobody waits any longer.
  void Close() EXCLUDES(mutex_);

  // Returns when values [first, last) of every buffer may change.
  void BeforeOverwrite(int64_t first, int64_t last) EXCLUDES(mutex_);

  uint64_t copied_bytes_most() const EXCLUDES(mutex_);

 private:
  // Chunks are numbered through all buffers, in the order in which they are read.
  int64_t ChunkOf(int buffer, int64_t position) const REQUIRES(mutex_);
  std::span<const float> Live(int64_t chunk) const REQUIRES(mutex_);
  bool Pending(int64_t chunk) const REQUIRES(mutex_);
  bool HasRoom() const REQUIRES(mutex_);
  void Secure(int64_t chunk) REQUIRES(mutex_);
  void Copy(int64_t chunk) REQUIRES(mutex_);
  void Advance(int64_t chunk) REQUIRES(mutex_);
  Status ReadPiece(int buffer, int64_t first, int64_t last, const Consume& consume)
      EXCLUDES(mutex_);

  const Options options_;
  std::atomic<bool> open_ = false;  // written under the mutex
  mutable Mutex mutex_;
  CondVar changed_;
  Buffers buffers_ GUARDED_BY(mutex_);
  int64_t chunks_per_buffer_ GUARDED_BY(mutex_) = 0;
  int64_t reading_ GUARDED_BY(mutex_) = 0;  // chunks before it are done with
  int64_t pinned_ GUARDED_BY(mutex_) = -1;  // is being read from live memory
  bool given_up_ GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<float[]>> copies_ GUARDED_BY(mutex_);  // by chunk
  std::vector<std::unique_ptr<float[]>> spare_ GUARDED_BY(mutex_);
  uint64_t allocated_ GUARDED_BY(mutex_) = 0;  // chunks
};

}  // namespace gp::engine
