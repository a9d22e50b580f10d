#include "coordinator/telemetry/curve_reader.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "contract/training_point.h"

namespace gp::coordinator {

StatusOr<CurveReader> CurveReader::Make(const std::string& run_directory,
                                        std::vector<EpochStart> epochs,
                                        const CurveRequest& request) {
  if (request.fields.size() > kCurveFieldsMax) {
    return InvalidArgument("fields: {} of them; expected at most {}", request.fields.size(),
                           kCurveFieldsMax);
  }
  if (request.points_max < 0 || request.points_max == 1 || request.points_max > kCurvePointsMax) {
    return InvalidArgument("max_points: {}; expected 2 to {}, or 0 for all points",
                           request.points_max, kCurvePointsMax);
  }
  ASSIGN_OR_RETURN(CurveColumns columns, CurveColumns::Make(request.fields));
  return CurveReader(run_directory, std::move(epochs), std::move(columns), request.points_max);
}

CurveReader::CurveReader(std::string run_directory, std::vector<EpochStart> epochs,
                         CurveColumns columns, int points_max)
    : run_directory_(std::move(run_directory)),
      epochs_(std::move(epochs)),
      shown_(epochs_),
      columns_(std::move(columns)) {
  if (points_max == 0) return;
  reducers_.assign(columns_.fields().size(), CurveReducer(static_cast<size_t>(points_max)));
}

StatusOr<std::vector<CurvePage>> CurveReader::Read() {
  std::vector<CurvePage> pages(columns_.fields().size());
  for (size_t i = 0; i < pages.size(); ++i) pages[i].field = columns_.fields()[i];
  CurveRow row;
  int records = 0;
  ASSIGN_OR_RETURN(offset_,
                   ReadRecords(PointsPath(run_directory_), offset_, [&](std::string_view bytes) {
                     if (columns_.Read(bytes, row)) Add(row, pages);
                     return ++records < kCurvePageRecords;
                   }));
  complete_ = records == 0;
  if (complete_) pages = ReducedPages();
  std::erase_if(pages, [](const CurvePage& page) { return page.points.empty(); });
  return pages;
}

bool CurveReader::IsWanted(const CurveRow& row) const {
  if (!epochs_.empty() && row.epoch > epochs_.back().epoch) return false;
  contract::TrainingPoint point;
  point.step = row.step;
  point.epoch = row.epoch;
  return shown_.Shows(point);
}

void CurveReader::Advance(const CurveRow& row) {
  const bool goes_on = newest_ && newest_->epoch == row.epoch;
  if (goes_on) trained_us_ += std::max<int64_t>(row.at_us - newest_->at_us, 0);
  newest_ = {row.epoch, row.at_us};
}

void CurveReader::Add(const CurveRow& row, std::vector<CurvePage>& pages) {
  Advance(row);
  if (!IsWanted(row)) return;
  const double seconds = static_cast<double>(trained_us_) / 1e6;
  for (size_t i = 0; i < row.values.size(); ++i) {
    if (!row.values[i]) continue;
    const CurvePoint point{row.step, row.tokens, seconds, *row.values[i]};
    if (reducers_.empty()) {
      pages[i].points.push_back(point);
    } else {
      reducers_[i].Add(point);
    }
  }
}

std::vector<CurvePage> CurveReader::ReducedPages() const {
  std::vector<CurvePage> pages;
  for (size_t i = 0; i < reducers_.size(); ++i) {
    const std::vector<CurvePoint> points = reducers_[i].Points();
    for (size_t begin = 0; begin < points.size(); begin += kCurvePageRecords) {
      const size_t end = std::min<size_t>(begin + kCurvePageRecords, points.size());
      pages.push_back({columns_.fields()[i], {points.begin() + begin, points.begin() + end}});
    }
  }
  return pages;
}

}  // namespace gp::coordinator
