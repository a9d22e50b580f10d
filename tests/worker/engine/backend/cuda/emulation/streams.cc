// Streams, events, capture and graphs. Work runs when it is submitted, so every stream is idle and
// every event has happened.
#include <chrono>
#include <set>

#include "base/mutex.h"
#include "worker/engine/backend/cuda/emulation/capture.h"
#include "worker/engine/backend/cuda/emulation/devices.h"

using gp::cuda_emulation::Capture;

struct CUstream_st {
  std::shared_ptr<Capture> capture;  // null while nothing is captured
};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
  // Where it was recorded, if that was while capturing.
  std::shared_ptr<Capture> capture;
  cudaStream_t stream = nullptr;
};
struct CUgraph_st {
  std::vector<std::function<void()>> work;
};
struct CUgraphExec_st {
  std::vector<std::function<void()>> work;
};

namespace gp::cuda_emulation {
namespace {

Mutex streams_mutex;
struct Streams {
  CUstream_st legacy;
  std::set<std::shared_ptr<Capture>> captures;  // under way
};
Streams& TheStreams() REQUIRES(streams_mutex) {
  static auto* streams = new Streams;
  return *streams;
}

cudaStream_t Resolve(cudaStream_t stream) REQUIRES(streams_mutex) {
  return stream == nullptr ? &TheStreams().legacy : stream;
}

cudaError_t Invalidate(Capture& capture, cudaError_t error) REQUIRES(streams_mutex) {
  capture.valid = false;
  return SetLastError(error);
}

// The capture that keeps this thread from calling what is unsafe, or null.
Capture* CaptureInTheWay() REQUIRES(streams_mutex) {
  for (const auto& capture : TheStreams().captures) {
    const bool mine = capture->thread == std::this_thread::get_id();
    if (capture->mode == cudaStreamCaptureModeGlobal ||
        (capture->mode == cudaStreamCaptureModeThreadLocal && mine)) {
      return capture.get();
    }
  }
  return nullptr;
}

// Records `work`; false when the stream is not capturing.
bool Record(cudaStream_t stream, std::function<void()>& work, cudaError_t* error)
    REQUIRES(streams_mutex) {
  const std::shared_ptr<Capture>& capture = stream->capture;
  if (capture == nullptr) return false;
  if (!capture->valid) {
    *error = SetLastError(cudaErrorStreamCaptureInvalidated);
    return true;
  }
  capture->work.push_back(std::move(work));
  if (stream != capture->origin) capture->unjoined.insert(stream);
  *error = cudaSuccess;
  return true;
}

cudaError_t WaitIsAllowed(cudaStream_t stream) {
  MutexLock lock(streams_mutex);
  if (Resolve(stream)->capture == nullptr) return cudaSuccess;
  return Invalidate(*Resolve(stream)->capture, cudaErrorStreamCaptureUnsupported);
}

}  // namespace

cudaError_t ForbidDuringCapture() {
  MutexLock lock(streams_mutex);
  Capture* capture = CaptureInTheWay();
  if (capture == nullptr) return cudaSuccess;
  return Invalidate(*capture, cudaErrorStreamCaptureUnsupported);
}

cudaError_t Submit(cudaStream_t stream, std::function<void()> work) {
  {
    MutexLock lock(streams_mutex);
    Capture* capture = stream == nullptr ? CaptureInTheWay() : nullptr;
    if (capture != nullptr) return Invalidate(*capture, cudaErrorStreamCaptureImplicit);
    cudaError_t error = cudaSuccess;
    if (Record(Resolve(stream), work, &error)) return error;
  }
  work();
  return cudaSuccess;
}

}  // namespace gp::cuda_emulation

using namespace gp::cuda_emulation;

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int, int) {
  if (DeviceCount() == 0) return SetLastError(cudaErrorNoDevice);
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr) return SetLastError(cudaErrorInvalidResourceHandle);
  {
    gp::MutexLock lock(streams_mutex);
    if (stream->capture != nullptr) {
      stream->capture->valid = false;
      stream->capture->members.erase(stream);
      stream->capture->unjoined.erase(stream);
      if (stream->capture->origin == stream) TheStreams().captures.erase(stream->capture);
    }
  }
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return WaitIsAllowed(stream); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return WaitIsAllowed(stream); }
cudaError_t cudaDeviceSynchronize() { return ForbidDuringCapture(); }
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return Submit(stream, [=] { function(data); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  gp::MutexLock lock(streams_mutex);
  cudaStream_t waiting = Resolve(stream);
  const std::shared_ptr<Capture>& capture = event->capture;
  if (capture == nullptr) return cudaSuccess;
  if (waiting->capture == nullptr) {
    waiting->capture = capture;
    capture->members.insert(waiting);
    capture->unjoined.insert(waiting);
  } else if (waiting == capture->origin) {
    capture->unjoined.erase(event->stream);
  }
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int) {
  if (DeviceCount() == 0) return SetLastError(cudaErrorNoDevice);
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) return SetLastError(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  gp::MutexLock lock(streams_mutex);
  event->stream = Resolve(stream);
  event->capture = event->stream->capture;
  if (event->capture != nullptr) return cudaSuccess;
  event->time = std::chrono::steady_clock::now();
  event->recorded = true;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  gp::MutexLock lock(streams_mutex);
  if (event->capture == nullptr || !TheStreams().captures.contains(event->capture)) {
    return cudaSuccess;
  }
  return Invalidate(*event->capture, cudaErrorStreamCaptureUnsupported);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  gp::MutexLock lock(streams_mutex);
  if (!start->recorded || !end->recorded) return SetLastError(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  gp::MutexLock lock(streams_mutex);
  if (stream == nullptr) return SetLastError(cudaErrorStreamCaptureUnsupported);
  if (stream->capture != nullptr) return SetLastError(cudaErrorInvalidValue);
  stream->capture = std::make_shared<Capture>();
  stream->capture->origin = stream;
  stream->capture->mode = mode;
  stream->capture->thread = std::this_thread::get_id();
  TheStreams().captures.insert(stream->capture);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  gp::MutexLock lock(streams_mutex);
  *graph = nullptr;
  if (stream == nullptr || stream->capture == nullptr) return SetLastError(cudaErrorInvalidValue);
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture->origin != stream) return Invalidate(*capture, cudaErrorStreamCaptureUnmatched);
  TheStreams().captures.erase(capture);
  stream->capture = nullptr;
  for (cudaStream_t member : capture->members) member->capture = nullptr;
  if (!capture->valid) return SetLastError(cudaErrorStreamCaptureInvalidated);
  if (!capture->unjoined.empty()) return SetLastError(cudaErrorStreamCaptureUnjoined);
  *graph = new CUgraph_st{std::move(capture->work)};
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  gp::MutexLock lock(streams_mutex);
  const std::shared_ptr<Capture>& capture = Resolve(stream)->capture;
  if (capture == nullptr) {
    *status = cudaStreamCaptureStatusNone;
  } else {
    *status = capture->valid ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated;
  }
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  *count = graph->work.size();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  if (graph == nullptr) return SetLastError(cudaErrorInvalidValue);
  *executable = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return Submit(stream, [executable] {
    for (const std::function<void()>& work : executable->work) work();
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}
