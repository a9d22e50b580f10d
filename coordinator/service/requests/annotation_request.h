// Checks what a user wants to write on a run. Pure; thread-safe.
#pragma once

#include "base/status.h"
#include "coordinator/state/event.h"
#include "gp/v1/run_service.pb.h"

namespace gp::coordinator {

inline constexpr size_t kLabelKeyBytesMax = 63;  // as a run's name
inline constexpr size_t kLabelValueBytesMax = 256;
inline constexpr size_t kRemovedKeyBytesMax = 1024;  // longer: the run file may have such a label
inline constexpr size_t kNoteBytesMax = 4096;

// InvalidArgument: a label or the note is too long, is not UTF-8 or has control characters (a note
// may have several lines); a label is set and removed; the request changes nothing.
StatusOr<RunAnnotated> AnnotationOf(const v1::AnnotateRequest& request);

}  // namespace gp::coordinator
