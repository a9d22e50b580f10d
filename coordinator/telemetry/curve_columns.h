// CurveColumns: reads single fields of stored points. Decoding whole points takes ten times as
// long, which matters for a run of a million points. Thread-safe once made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "coordinator/state/ids.h"

namespace gp::coordinator {

// One point with the values of the chosen fields, in their order; absent: the point has none.
struct CurveRow {
  int64_t step = 0;
  int64_t tokens = 0;
  int64_t at_us = 0;
  Epoch epoch = 0;
  std::vector<std::optional<double>> values;
};

class CurveColumns {
 public:
  // `fields`: keys of metrics.jsonl such as "loss" and "lr", or names of scores. InvalidArgument
  // names a field that no point has, with those that there are.
  static StatusOr<CurveColumns> Make(const std::vector<std::string>& fields);

  const std::vector<std::string>& fields() const { return fields_; }

  // False when the bytes are not a stored point (run_log_codec.h).
  bool Read(std::string_view bytes, CurveRow& row) const;

 private:
  struct Column {
    int number = 0;              // of the field of the stored message; 0: a score
    std::optional<double> none;  // the value of a point whose message lacks the field
  };
  class Reader;

  std::vector<std::string> fields_;
  std::vector<Column> columns_;  // one for each of fields_
};

}  // namespace gp::coordinator
