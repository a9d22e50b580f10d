// A rename that survives a crash. May be called from any thread.
#pragma once

#include <string>

#include "base/status.h"

namespace gp {

// Gives the file or directory `from` the name `to`, in place of a file that has it, and makes the
// new name durable. The content of `from` must be durable before. When the rename fails both stay
// as they were, and the error names `to`.
Status RenameDurably(const std::string& from, const std::string& to);

}  // namespace gp
