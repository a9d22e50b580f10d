// TargetFile: reads the file of notification targets (docs/operations/notifications.md). All
// problems are reported at once, each with line and column, as for every other configuration.
// Reads files; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/config_problem.h"
#include "base/status.h"
#include "coordinator/notifications/notification_target.h"

namespace gp::coordinator {

inline constexpr size_t kTargetsMax = 32;

// `text` is the file's content, `path` its name; paths in it are relative to its folder. The result
// is complete only if no problem was added.
NotificationTargets ParseTargets(std::string_view text, const std::string& path,
                                 ConfigProblems& problems);

// Reads the file, and checks that its targets' secrets can be read. InvalidArgument lists all
// problems.
StatusOr<NotificationTargets> ReadTargets(const std::string& path);

}  // namespace gp::coordinator
