// The sources of RunService's streams: Watch, Events, Logs, Metrics, Curves. Events and Logs begin
// after the sequence number that the caller names, Metrics after a step, Watch with the present
// state. Watch, and the others with `follow`, end when the run has ended and everything recorded
// was sent; without `follow` at the end of what is recorded. A source belongs to one stream.
#pragma once

#include <memory>

#include "coordinator/control/reconciler.h"
#include "coordinator/service/pull_stream.h"
#include "coordinator/store/store.h"
#include "coordinator/telemetry/recorder.h"
#include "gp/v1/run_service.pb.h"

namespace gp::coordinator {

// Dependencies of the sources; must outlive them.
struct StreamContext {
  Reconciler& reconciler;
  Recorder& recorder;
  Store& store;
};

std::unique_ptr<StreamSource<v1::WatchResponse>> MakeWatchSource(StreamContext context, RunId run);
std::unique_ptr<StreamSource<v1::RunEvent>> MakeEventsSource(StreamContext context, RunId run,
                                                             const v1::EventsRequest& request);
std::unique_ptr<StreamSource<v1::LogLine>> MakeLogsSource(StreamContext context, RunId run,
                                                          const v1::LogsRequest& request);
std::unique_ptr<StreamSource<v1::MetricPoint>> MakeMetricsSource(StreamContext context, RunId run,
                                                                 const v1::MetricsRequest& request);
// An invalid request is the error of the source's first Next.
std::unique_ptr<StreamSource<v1::CurvePoints>> MakeCurvesSource(StreamContext context, RunId run,
                                                                const v1::CurvesRequest& request);

}  // namespace gp::coordinator
