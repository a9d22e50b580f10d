// The documents of /api/v1 about runs and workers, also used by the event stream. Times are seconds
// since 1970; absent numbers are null. A measurement of a point that is not finite is "nan", "inf"
// or "-inf". Pure functions; thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/status.h"
#include "client/gateway/models/served_checkpoint.h"
#include "client/gateway/runs/board.h"
#include "client/gateway/runs/point_series.h"
#include "gp/v1/run_service.pb.h"

namespace gp::gateway {

using Json = nlohmann::ordered_json;

Json RunsDocument(const Board& board);  // GET /api/v1/runs
// The same for a request with parameters: `page` is the coordinator's answer.
Json RunsDocument(const Board& board, const v1::ListResponse& page);
Json WorkersDocument(const Board& board);  // GET /api/v1/workers
// GET /api/v1/runs/ID. `models` are those of that run.
Json RunDocument(const Board& board, const RunDetails& details, const RunModels& models);

// GET /api/v1/differences. Errors: those of client::FindKeyDifferences.
StatusOr<Json> DifferencesDocument(std::span<const v1::Run> runs);

// GET /api/v1/runs/ID/points, written directly as text because it has thousands of numbers.
// `total`: the points of the whole series, before range and decimation.
std::string PointsText(const std::string& run_id, size_t total, std::span<const Point> points);

// Messages of /api/v1/events: the document with its "type".
std::string MessageText(const std::string& type, Json document);
std::string PointsMessageText(const std::string& run_id, std::span<const Point> points);

// One line. Bytes that are not UTF-8 are replaced.
std::string Text(const Json& json);

}  // namespace gp::gateway
