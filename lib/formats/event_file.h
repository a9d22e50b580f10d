// Records of a TensorBoard event file (docs/formats/events.md): enough of protobuf's and TFRecord's
// encoding to write scalars, texts and hyperparameters, without either library. Pure functions;
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"

namespace gp::formats {

struct Scalar {
  std::string tag;  // "train/loss"
  float value = 0;

  bool operator==(const Scalar&) const = default;
};

// The record that an event file begins with. `wall_time` is seconds since 1970.
std::string FormatEventFileStart(double wall_time);

// The record that marks a resume at `step`: TensorBoard then drops what it has read for this step
// and later ones (SessionLog.START).
std::string FormatSessionStart(double wall_time, int64_t step);

// One record with the values of one step.
std::string FormatScalarEvent(double wall_time, int64_t step, const std::vector<Scalar>& scalars);

// One record with a text, which TensorBoard shows as Markdown, under `tag`. Bytes that are not
// UTF-8 are replaced.
std::string FormatTextEvent(double wall_time, int64_t step, std::string_view tag,
                            std::string_view text);

using Hyperparameter = std::variant<bool, double, std::string>;

// The record with the hyperparameters of a run that began at `wall_time`, for TensorBoard's page
// HPARAMS.
std::string FormatHyperparameters(double wall_time,
                                  const std::map<std::string, Hyperparameter>& values);

// "events.out.tfevents.<seconds>.<host>": TensorBoard reads files whose name holds "tfevents".
std::string EventFileName(int64_t wall_seconds, std::string_view host);

struct ScalarEvent {
  double wall_time = 0;
  int64_t step = 0;
  std::vector<Scalar> scalars;  // empty for records of another kind
  uint64_t end_offset = 0;      // of the record in the file
};

// The events of a file's bytes, with their checksums verified. DataLoss names the offset of a
// record that is cut short, damaged or of an unknown kind; the events before that record are then
// in
// `*intact`, unless `intact` is null.
StatusOr<std::vector<ScalarEvent>> ParseEventFile(std::string_view bytes,
                                                  std::vector<ScalarEvent>* intact = nullptr);

}  // namespace gp::formats
