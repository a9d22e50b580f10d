// Streams, events, capture and graphs, built on the queues of work_queue.h.
#include <chrono>
#include <set>

#include "base/mutex.h"
#include "worker/engine/backend/cuda/emulation/capture.h"
#include "worker/engine/backend/cuda/emulation/devices.h"
#include "worker/engine/backend/cuda/emulation/work_queue.h"

using gp::cuda_emulation::Capture;
using gp::cuda_emulation::Mark;
using gp::cuda_emulation::WorkQueue;

struct CUstream_st {
  std::shared_ptr<Capture> capture;  // null if the stream is not being captured
  const std::shared_ptr<WorkQueue> queue = std::make_shared<WorkQueue>();
  bool is_blocking = true;  // waits for the legacy stream, which waits for this one
};
struct CUevent_st {
  std::shared_ptr<Mark> mark;  // set by the last cudaEventRecord outside a capture
  // The capture in which the event was recorded, if any.
  std::shared_ptr<Capture> capture;
  cudaStream_t stream = nullptr;
};
using Work = std::vector<std::function<void()>>;
struct CUgraph_st {
  std::shared_ptr<const Work> work;
};
struct CUgraphExec_st {
  std::shared_ptr<const Work> work;
};

namespace gp::cuda_emulation {
namespace {

Mutex streams_mutex;
struct Streams {
  CUstream_st legacy;
  std::set<cudaStream_t> others;
  std::set<std::shared_ptr<Capture>> captures;  // captures in progress
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

// The capture in progress that forbids this thread to call unsafe functions, or null.
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

// Records `work` if the stream is being captured; otherwise returns false.
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

// The stream's queue; or null with an error if a capture forbids waiting for it.
std::shared_ptr<WorkQueue> QueueToWaitFor(cudaStream_t stream, cudaError_t* error) {
  MutexLock lock(streams_mutex);
  cudaStream_t waited = Resolve(stream);
  *error = cudaSuccess;
  if (waited->capture == nullptr) return waited->queue;
  *error = Invalidate(*waited->capture, cudaErrorStreamCaptureUnsupported);
  return nullptr;
}

// The mark to wait for when waiting for an event; null if there is nothing to wait for.
std::shared_ptr<Mark> MarkToWaitFor(cudaEvent_t event, cudaError_t* error) {
  MutexLock lock(streams_mutex);
  *error = cudaSuccess;
  if (event->capture != nullptr && TheStreams().captures.contains(event->capture)) {
    *error = Invalidate(*event->capture, cudaErrorStreamCaptureUnsupported);
    return nullptr;
  }
  return event->mark;
}

std::vector<std::shared_ptr<WorkQueue>> Queues(bool blocking_only) {
  MutexLock lock(streams_mutex);
  std::vector<std::shared_ptr<WorkQueue>> queues{TheStreams().legacy.queue};
  for (cudaStream_t stream : TheStreams().others) {
    if (stream->is_blocking || !blocking_only) queues.push_back(stream->queue);
  }
  return queues;
}

}  // namespace

void FinishAllWork() {
  for (const std::shared_ptr<WorkQueue>& queue : Queues(false)) queue->Run();
}

void FinishLegacyWork() {
  for (const std::shared_ptr<WorkQueue>& queue : Queues(true)) queue->Run();
}

cudaError_t ForbidDuringCapture() {
  MutexLock lock(streams_mutex);
  Capture* capture = CaptureInTheWay();
  if (capture == nullptr) return cudaSuccess;
  return Invalidate(*capture, cudaErrorStreamCaptureUnsupported);
}

cudaError_t Submit(cudaStream_t stream, std::function<void()> work) {
  std::shared_ptr<WorkQueue> queue;
  {
    MutexLock lock(streams_mutex);
    Capture* capture = stream == nullptr ? CaptureInTheWay() : nullptr;
    if (capture != nullptr) return Invalidate(*capture, cudaErrorStreamCaptureImplicit);
    cudaError_t error = cudaSuccess;
    if (Record(Resolve(stream), work, &error)) return error;
    queue = Resolve(stream)->queue;
  }
  queue->Push(std::move(work));
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
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int) {
  if (DeviceCount() == 0) return SetLastError(cudaErrorNoDevice);
  *stream = new CUstream_st;
  (*stream)->is_blocking = (flags & cudaStreamNonBlocking) == 0;
  gp::MutexLock lock(streams_mutex);
  TheStreams().others.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr) return SetLastError(cudaErrorInvalidResourceHandle);
  stream->queue->Run();
  {
    gp::MutexLock lock(streams_mutex);
    TheStreams().others.erase(stream);
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
// In the emulation, a query advances the stream by one piece of work.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  const std::shared_ptr<WorkQueue> queue = QueueToWaitFor(stream, &error);
  if (queue == nullptr) return error;
  queue->RunOne();
  return queue->IsEmpty() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  const std::shared_ptr<WorkQueue> queue = QueueToWaitFor(stream, &error);
  if (queue != nullptr) queue->Run();
  return error;
}
cudaError_t cudaDeviceSynchronize() {
  const cudaError_t error = ForbidDuringCapture();
  if (error == cudaSuccess) FinishAllWork();
  return error;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return Submit(stream, [=] { function(data); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  gp::MutexLock lock(streams_mutex);
  cudaStream_t waiting = Resolve(stream);
  const std::shared_ptr<Capture>& capture = event->capture;
  if (capture == nullptr) {
    if (event->mark != nullptr) waiting->queue->WaitFor(event->mark);
    return cudaSuccess;
  }
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
  std::shared_ptr<WorkQueue> queue;
  {
    gp::MutexLock lock(streams_mutex);
    event->stream = Resolve(stream);
    event->capture = event->stream->capture;
    if (event->capture != nullptr) return cudaSuccess;
    queue = event->stream->queue;
  }
  std::shared_ptr<Mark> mark = queue->Record();
  gp::MutexLock lock(streams_mutex);
  event->mark = std::move(mark);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  cudaError_t error = cudaSuccess;
  const std::shared_ptr<Mark> mark = MarkToWaitFor(event, &error);
  if (mark == nullptr || mark->reached) return error;
  if (const std::shared_ptr<WorkQueue> queue = mark->queue.lock()) queue->RunOne();
  return mark->reached ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  cudaError_t error = cudaSuccess;
  const std::shared_ptr<Mark> mark = MarkToWaitFor(event, &error);
  if (mark != nullptr) RunUntilReached(*mark);
  return error;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  gp::MutexLock lock(streams_mutex);
  if (start->mark == nullptr || end->mark == nullptr) {
    return SetLastError(cudaErrorInvalidResourceHandle);
  }
  if (!start->mark->reached || !end->mark->reached) return SetLastError(cudaErrorNotReady);
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->mark->time - start->mark->time).count();
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
  *graph = new CUgraph_st{std::make_shared<const Work>(std::move(capture->work))};
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
  *count = graph->work->size();
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
  return Submit(stream, [all = executable->work] {
    for (const std::function<void()>& work : *all) work();
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}
