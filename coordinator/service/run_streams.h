// The sources of RunService's streams: Watch, Events, Logs, Metrics, Points, Curves, Lineage.
// Events and Logs begin after the sequence number that the caller names, Metrics and Points after a
// step, Watch with the present state. Watch, and the others with `follow`, end when the run has
// ended and everything recorded was sent; without `follow` at the end of what is recorded. A source
// belongs to one stream.
#pragma once

#include <functional>
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
std::unique_ptr<StreamSource<v1::MetricPoints>> MakePointsSource(StreamContext context, RunId run,
                                                                 const v1::MetricsRequest& request);
// An invalid request is the error of the source's first Next.
std::unique_ptr<StreamSource<v1::CurvePoints>> MakeCurvesSource(StreamContext context, RunId run,
                                                                const v1::CurvesRequest& request);

using FillRunMessage = std::function<Status(const std::shared_ptr<const Run>&, v1::Run&)>;

// Sends the relatives that `sees` admits (state/lineage.h), the oldest submit first. `fill` makes
// the message; a run that was deleted meanwhile is left out.
std::unique_ptr<StreamSource<v1::LineageResponse>> MakeLineageSource(
    StreamContext context, const RunId& run, const std::function<bool(const Run&)>& sees,
    FillRunMessage fill);

}  // namespace gp::coordinator
