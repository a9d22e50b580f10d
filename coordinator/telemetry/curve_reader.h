// CurveReader: columns of a run's points, read from points.log in pages, without the steps that a
// newer epoch has repeated. It keeps a curve in memory only to reduce it. Belongs to one thread at
// a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/telemetry/curve_columns.h"
#include "coordinator/telemetry/curve_reducer.h"
#include "coordinator/telemetry/run_log.h"
#include "coordinator/telemetry/shown_points.h"

namespace gp::coordinator {

inline constexpr size_t kCurveFieldsMax = 16;
inline constexpr int kCurvePointsMax = 5000;     // the largest points_max
inline constexpr int kCurvePageRecords = 16384;  // records read at a time; points of a page

struct CurveRequest {
  std::vector<std::string> fields;  // as in CurveColumns::Make
  int points_max = 0;  // a curve with more points is reduced to about this many; 0: never
};

// The next points of one curve.
struct CurvePage {
  std::string field;
  std::vector<CurvePoint> points;  // at least one
};

class CurveReader {
 public:
  // `epochs`: those of the run's progress. Points of an epoch that begins later are left out,
  // because their steps could lie before those that were read. InvalidArgument for the request.
  static StatusOr<CurveReader> Make(const std::string& run_directory,
                                    std::vector<EpochStart> epochs, const CurveRequest& request);

  // Reads the next records. May return no page before the end; one of each field at most, and at
  // the end all pages of the reduced curves.
  StatusOr<std::vector<CurvePage>> Read();
  bool complete() const { return complete_; }

 private:
  CurveReader(std::string run_directory, std::vector<EpochStart> epochs, CurveColumns columns,
              int points_max);

  struct Moment {
    uint64_t epoch = 0;
    int64_t at_us = 0;
  };

  bool IsWanted(const CurveRow& row) const;
  // Counts the time since the record before, unless an epoch begins: the run did not train between
  // two epochs.
  void Advance(const CurveRow& row);
  void Add(const CurveRow& row, std::vector<CurvePage>& pages);
  std::vector<CurvePage> ReducedPages() const;

  std::string run_directory_;
  std::vector<EpochStart> epochs_;
  ShownPoints shown_;
  CurveColumns columns_;
  std::vector<CurveReducer> reducers_;  // by field; empty: every point is returned
  std::optional<Moment> newest_;        // of the record before
  int64_t trained_us_ = 0;              // from the run's first record to the newest
  uint64_t offset_ = 0;
  bool complete_ = false;
};

}  // namespace gp::coordinator
