// How import and export copy a model's weights. Used by gpctl's main thread.
#pragma once

#include "client/gpctl/session/session.h"
#include "interop/model_file.h"

namespace gp::gpctl {

// Ends with Cancelled between two tensors when the person wants to stop. The session must outlive
// it.
interop::CopyOptions ModelCopy(bool allow_not_finite, Session& session);

}  // namespace gp::gpctl
