// The precision that a run computes in, stored in its checkpoints' records, so that sampling
// computes as training did. Pure functions; any thread may call.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "formats/checkpoint_manifest.h"
#include "plan/run_spec.h"

namespace gp::formats {

// "fp32", "bf16", "auto": as run files spell it.
std::string PrecisionText(runspec::Precision precision);

// Nullopt for a checkpoint whose record is too old to have it. FailedPrecondition for a precision
// that this program does not support.
StatusOr<std::optional<runspec::Precision>> RecordedPrecision(const CheckpointManifest& manifest);

// "auto", "fp32" or "bf16": the choices for programs that do not train. InvalidArgument for other
// texts.
StatusOr<runspec::Precision> ParseInferencePrecision(const std::string& text);

// The precision for inference: `wanted`, or for kAuto the recorded precision; fp32 if there is
// none. Returns kBf16 for bf16 and fp8, and kFp32 for all others.
StatusOr<runspec::Precision> InferencePrecision(runspec::Precision wanted,
                                                const CheckpointManifest& manifest);

}  // namespace gp::formats
