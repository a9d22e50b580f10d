// RAII wrappers for the CUDA runtime, with errors as exceptions that say what to do: CudaStream,
// CudaEvent, DeviceMemory, PinnedMemory, CudaGraph. Each belongs to the device that was current
// when it was made, and has one owner; any thread may use it while the owner lives.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "worker/engine/backend/cuda/runtime/cuda_error.h"

namespace gp::engine {

// A stream that does not wait for the legacy default stream.
class CudaStream {
 public:
  CudaStream();
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  cudaStream_t get() const { return stream_; }
  void Synchronize() const;

 private:
  cudaStream_t stream_ = nullptr;
};

// A point in a stream. With timing, two of them give the time between.
class CudaEvent {
 public:
  enum class Timing { kOff, kOn };

  explicit CudaEvent(Timing timing);
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  cudaEvent_t get() const { return event_; }
  void Record(const CudaStream& stream) const;
  // Returns at once for an event that was never recorded.
  void Synchronize() const;

 private:
  cudaEvent_t event_ = nullptr;
};

// The time on the device from `first` to `last`; waits for `last`. Both have timing on.
double MillisecondsBetween(const CudaEvent& first, const CudaEvent& last);

// Zeroed memory of the current device, aligned to 256 bytes.
class DeviceMemory {
 public:
  explicit DeviceMemory(int64_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Page-locked host memory, which the device copies from and to directly.
class PinnedMemory {
 public:
  explicit PinnedMemory(int64_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

// A recorded sequence of work that launches as one.
class CudaGraph {
 public:
  // Records what `work` puts into `stream` instead of running it. Work that a graph cannot hold
  // (allocation, waiting) fails; the stream is usable again either way.
  CudaGraph(const CudaStream& stream, const std::function<void()>& work);
  ~CudaGraph();
  CudaGraph(CudaGraph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  CudaGraph& operator=(CudaGraph&&) = delete;

  void Launch(const CudaStream& stream) const;

 private:
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace gp::engine
