#include "worker/engine/backend/cuda/runtime/runtime.h"

#include <algorithm>
#include <exception>
#include <string>

namespace gp::engine {
namespace {

int64_t AtLeastOne(int64_t bytes) { return std::max<int64_t>(bytes, 1); }

}  // namespace

CudaStream::CudaStream() {
  CheckCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
}

CudaStream::~CudaStream() { static_cast<void>(cudaStreamDestroy(stream_)); }

void CudaStream::Synchronize() const {
  CheckCuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

CudaEvent::CudaEvent(Timing timing) {
  const unsigned flags = timing == Timing::kOn ? cudaEventDefault : cudaEventDisableTiming;
  CheckCuda(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreate");
}

CudaEvent::~CudaEvent() { static_cast<void>(cudaEventDestroy(event_)); }

void CudaEvent::Record(const CudaStream& stream) const {
  CheckCuda(cudaEventRecord(event_, stream.get()), "cudaEventRecord");
}

void CudaEvent::Synchronize() const {
  CheckCuda(cudaEventSynchronize(event_), "cudaEventSynchronize");
}

double MillisecondsBetween(const CudaEvent& first, const CudaEvent& last) {
  last.Synchronize();
  float milliseconds = 0;
  CheckCuda(cudaEventElapsedTime(&milliseconds, first.get(), last.get()), "cudaEventElapsedTime");
  return milliseconds;
}

DeviceMemory::DeviceMemory(int64_t bytes) : bytes_(bytes) {
  void* data = nullptr;
  const auto size = static_cast<size_t>(AtLeastOne(bytes));
  const std::string call = "cudaMalloc of " + std::to_string(bytes) + " bytes";
  CheckCuda(cudaMalloc(&data, size), call.c_str());
  data_ = static_cast<std::byte*>(data);
  // Our streams do not wait for the default stream, and memset does not wait for the device.
  cudaError_t cleared = cudaMemset(data_, 0, size);
  if (cleared == cudaSuccess) cleared = cudaStreamSynchronize(nullptr);
  if (cleared == cudaSuccess) return;
  static_cast<void>(cudaFree(data_));
  CheckCuda(cleared, "cudaMemset");
}

DeviceMemory::~DeviceMemory() { static_cast<void>(cudaFree(data_)); }

PinnedMemory::PinnedMemory(int64_t bytes) : bytes_(bytes) {
  void* data = nullptr;
  CheckCuda(cudaMallocHost(&data, static_cast<size_t>(AtLeastOne(bytes))), "cudaMallocHost");
  data_ = static_cast<std::byte*>(data);
}

PinnedMemory::~PinnedMemory() { static_cast<void>(cudaFreeHost(data_)); }

CudaGraph::CudaGraph(const CudaStream& stream, const std::function<void()>& work) {
  // Thread-local mode: other threads may use the runtime during the capture, for example to copy a
  // checkpoint.
  CheckCuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
            "cudaStreamBeginCapture");
  std::exception_ptr failed;
  try {
    work();
  } catch (...) {
    failed = std::current_exception();
  }
  cudaGraph_t recorded = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream.get(), &recorded);
  if (failed == nullptr && ended == cudaSuccess) {
    const cudaError_t made = cudaGraphInstantiate(&graph_, recorded, 0);
    static_cast<void>(cudaGraphDestroy(recorded));
    CheckCuda(made, "cudaGraphInstantiate");
    return;
  }
  if (recorded != nullptr) static_cast<void>(cudaGraphDestroy(recorded));
  static_cast<void>(cudaGetLastError());
  if (failed != nullptr) std::rethrow_exception(failed);
  CheckCuda(ended, "cudaStreamEndCapture");
}

CudaGraph::~CudaGraph() {
  if (graph_ != nullptr) static_cast<void>(cudaGraphExecDestroy(graph_));
}

void CudaGraph::Launch(const CudaStream& stream) const {
  CheckCuda(cudaGraphLaunch(graph_, stream.get()), "cudaGraphLaunch");
}

}  // namespace gp::engine
