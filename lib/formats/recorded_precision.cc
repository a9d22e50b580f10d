#include "formats/recorded_precision.h"

namespace gp::formats {
namespace {

using runspec::Precision;

Precision Nearest(Precision precision) {
  const bool half = precision == Precision::kFp8 || precision == Precision::kBf16;
  return half ? Precision::kBf16 : Precision::kFp32;
}

}  // namespace

std::string PrecisionText(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kBf16:
      return "bf16";
    case Precision::kFp16:
      return "fp16";
    case Precision::kFp8:
      return "fp8";
    case Precision::kAuto:
      break;
  }
  return "auto";
}

StatusOr<std::optional<Precision>> RecordedPrecision(const CheckpointManifest& manifest) {
  const std::optional<std::string>& recorded = manifest.record.precision;
  if (!recorded) return std::optional<Precision>();
  for (const Precision precision :
       {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16, Precision::kFp8}) {
    if (*recorded == PrecisionText(precision)) return std::optional(precision);
  }
  return FailedPrecondition(
      "checkpoint of step {}: record.precision is '{}', but this program supports fp32, tf32, "
      "bf16, fp16 "
      "and fp8; choose "
      "one with --precision",
      manifest.step, *recorded);
}

StatusOr<Precision> ParseInferencePrecision(const std::string& text) {
  for (const Precision precision : {Precision::kAuto, Precision::kFp32, Precision::kBf16}) {
    if (PrecisionText(precision) == text) return precision;
  }
  return InvalidArgument("precision '{}' is unknown; use auto, fp32 or bf16", text);
}

StatusOr<Precision> InferencePrecision(Precision wanted, const CheckpointManifest& manifest) {
  if (wanted != Precision::kAuto) return Nearest(wanted);
  ASSIGN_OR_RETURN(const auto recorded, RecordedPrecision(manifest));
  return Nearest(recorded.value_or(Precision::kFp32));
}

}  // namespace gp::formats
