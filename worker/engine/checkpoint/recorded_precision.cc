#include "worker/engine/checkpoint/recorded_precision.h"

namespace gp::engine {
namespace {

using runspec::Precision;

constexpr char kPrecisionKey[] = "precision";

}  // namespace

std::string PrecisionText(Precision precision) {
  if (precision == Precision::kAuto) return "auto";
  return precision == Precision::kBf16 ? "bf16" : "fp32";
}

void AddTo(std::map<std::string, std::string>& record, Precision precision) {
  record[kPrecisionKey] = PrecisionText(precision);
}

StatusOr<std::optional<Precision>> RecordedPrecision(const formats::CheckpointManifest& manifest) {
  const auto found = manifest.record.find(kPrecisionKey);
  if (found == manifest.record.end()) return std::optional<Precision>();
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    if (found->second == PrecisionText(precision)) return std::optional(precision);
  }
  return FailedPrecondition(
      "checkpoint of step {}: record.precision is '{}', this program knows fp32 and bf16; choose "
      "one with --precision",
      manifest.step, found->second);
}

}  // namespace gp::engine
