// The storage broker: a process that accesses a confined process's files by path. The kernel's
// rules for a confined process refer to the directories that had the names when it confined itself;
// it cannot open a directory that replaces a deleted one. The broker starts before that and stays
// unconfined, but does not interpret requests itself: a child performs one operation, confined
// again, and its answer may carry an open file.
#pragma once

#include <functional>
#include <memory>

#include "base/status.h"
#include "storage/storage.h"

namespace gp::engine {

// Starts the broker, and returns a Storage whose operations it performs. `confine` is called in the
// child of each operation, before it reads the request; the operation fails with its error. The
// broker ends with this process, or when the Storage is destroyed. Called before this process has a
// second thread; the Storage is thread-safe.
StatusOr<std::shared_ptr<const Storage>> StartStorageBroker(const std::function<Status()>& confine);

}  // namespace gp::engine
