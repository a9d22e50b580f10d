// The source of RunService's stream Curves: columns of a run's recorded points. It reads points.log
// in pages, so that other streams have their turn, and keeps a curve in memory only to reduce it.
#pragma once

#include <memory>

#include "coordinator/service/pull_stream.h"
#include "coordinator/telemetry/recorder.h"
#include "gp/v1/run_service.pb.h"

namespace gp::coordinator {

inline constexpr int kCurveFieldsMax = 32;       // in a request
inline constexpr int kCurvePointsMax = 20'000;   // the largest max_points
inline constexpr int kCurvePageRecords = 16384;  // points of a message

// `recorder` must outlive the source. An invalid request is the error of the source's first Next.
std::unique_ptr<StreamSource<v1::CurvePoints>> MakeCurvesSource(const Recorder& recorder,
                                                                const RunId& run,
                                                                const v1::CurvesRequest& request);

}  // namespace gp::coordinator
