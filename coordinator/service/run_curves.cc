#include "coordinator/service/run_curves.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/telemetry/curve_columns.h"
#include "coordinator/telemetry/curve_reducer.h"
#include "coordinator/telemetry/shown_points.h"

namespace gp::coordinator {
namespace {

StatusOr<CurveColumns> ColumnsOf(const v1::CurvesRequest& request) {
  if (request.fields_size() > kCurveFieldsMax) {
    return InvalidArgument("fields: {} of them; expected at most {}", request.fields_size(),
                           kCurveFieldsMax);
  }
  if (request.max_points() < 0 || request.max_points() == 1 ||
      request.max_points() > kCurvePointsMax) {
    return InvalidArgument("max_points: {}; expected 2 to {}, or 0 for all points",
                           request.max_points(), kCurvePointsMax);
  }
  return CurveColumns::Make({request.fields().begin(), request.fields().end()});
}

class CurvesSource final : public StreamSource<v1::CurvePoints> {
 public:
  CurvesSource(const Recorder& recorder, const RunId& run, const v1::CurvesRequest& request)
      : directory_(recorder.DirectoryOf(run)),
        columns_(ColumnsOf(request)),
        epochs_(recorder.ProgressOf(run).epochs),
        shown_(epochs_) {
    if (!columns_.ok() || request.max_points() == 0) return;
    reducers_.assign(columns_->fields().size(),
                     CurveReducer(static_cast<size_t>(request.max_points())));
  }

  StatusOr<Pull> Next(v1::CurvePoints& response) override {
    RETURN_IF_ERROR(columns_.status());
    if (buffer_.empty() && !complete_) RETURN_IF_ERROR(ReadPage());
    if (buffer_.empty()) return complete_ ? Pull::kEnd : Pull::kMore;
    response = std::move(buffer_.front());
    buffer_.pop_front();
    return Pull::kMessage;
  }

 private:
  Status ReadPage() {
    std::vector<v1::CurvePoints> page(columns_->fields().size());
    CurveRow row;
    int records = 0;
    ASSIGN_OR_RETURN(offset_,
                     ReadRecords(PointsPath(directory_), offset_, [&](std::string_view bytes) {
                       if (columns_->Read(bytes, row)) Add(row, page);
                       return ++records < kCurvePageRecords;
                     }));
    if (records == 0) {
      complete_ = true;
      for (size_t i = 0; i < reducers_.size(); ++i) SendReduced(i);
    }
    for (size_t i = 0; i < page.size(); ++i) Send(i, std::move(page[i]));
    return OkStatus();
  }

  // Whether the point is part of the curves: neither replaced by a newer epoch, nor of an epoch
  // that began after the request, whose steps could lie before those that were sent.
  bool IsWanted(const CurveRow& row) const {
    if (!epochs_.empty() && row.epoch > epochs_.back().epoch) return false;
    contract::TrainingPoint point;
    point.step = row.step;
    point.epoch = row.epoch;
    return shown_.Shows(point);
  }

  void Add(const CurveRow& row, std::vector<v1::CurvePoints>& page) {
    if (!first_at_us_) first_at_us_ = row.at_us;
    if (!IsWanted(row)) return;
    const double seconds = static_cast<double>(row.at_us - *first_at_us_) / 1e6;
    for (size_t i = 0; i < row.values.size(); ++i) {
      if (!row.values[i]) continue;
      const CurvePoint point{row.step, row.tokens, seconds, *row.values[i]};
      if (reducers_.empty()) {
        Append(point, page[i]);
      } else {
        reducers_[i].Add(point);
      }
    }
  }

  static void Append(const CurvePoint& point, v1::CurvePoints& to) {
    to.add_steps(point.step);
    to.add_tokens(point.tokens);
    to.add_seconds(point.seconds);
    to.add_values(point.value);
  }

  void SendReduced(size_t field) {
    v1::CurvePoints message;
    for (const CurvePoint& point : reducers_[field].Points()) {
      Append(point, message);
      if (message.steps_size() == kCurvePageRecords) Send(field, std::exchange(message, {}));
    }
    Send(field, std::move(message));
  }

  void Send(size_t field, v1::CurvePoints&& message) {
    if (message.steps_size() == 0) return;
    message.set_field(columns_->fields()[field]);
    buffer_.push_back(std::move(message));
  }

  const std::string directory_;
  const StatusOr<CurveColumns> columns_;
  const std::vector<EpochStart> epochs_;
  const ShownPoints shown_;
  std::vector<CurveReducer> reducers_;  // by field; empty: every point is sent
  std::optional<int64_t> first_at_us_;
  uint64_t offset_ = 0;
  bool complete_ = false;
  std::deque<v1::CurvePoints> buffer_;
};

}  // namespace

std::unique_ptr<StreamSource<v1::CurvePoints>> MakeCurvesSource(const Recorder& recorder,
                                                                const RunId& run,
                                                                const v1::CurvesRequest& request) {
  return std::make_unique<CurvesSource>(recorder, run, request);
}

}  // namespace gp::coordinator
