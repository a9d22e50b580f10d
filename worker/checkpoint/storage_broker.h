// The storage broker: a process that reaches the files of a confined one by their paths. The
// kernel's rules for a confined process belong to the directories that had the names when it
// confined itself; a directory that takes the place of a deleted one is closed to it. The broker
// starts before that and stays unconfined, but it does not interpret what it is sent: a child does
// one operation, confined anew, and its answer may carry an open file.
#pragma once

#include <functional>
#include <memory>

#include "base/status.h"
#include "worker/checkpoint/storage.h"

namespace gp::engine {

// Starts the broker, and returns a Storage whose operations it does. `confine` is called in the
// child of each operation, before it reads what to do; the operation fails with its error. The
// broker ends with this process, or when the Storage is destroyed. Called before this process has a
// second thread; the Storage is thread-safe.
StatusOr<std::shared_ptr<Storage>> StartStorageBroker(const std::function<Status()>& confine);

}  // namespace gp::engine
