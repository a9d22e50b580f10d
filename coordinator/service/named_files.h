// The files that a submitted run may name, as far as the coordinator can check: it knows who
// submitted the run and which checkpoints its catalogue holds. Whether a path lies below a node's
// data roots is checked by that node (worker/agent/run_files.h). Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/state/cluster.h"
#include "runspec/named_file.h"

namespace gp::coordinator {

// InvalidArgument names the key and the path: a relative one; and, unless the owner submitted, one
// below the runs of `storage_root` that is not a catalogued checkpoint of a run of the same
// namespace.
Status CheckNamedFiles(const std::vector<runspec::NamedFile>& files, const Submission& submission,
                       const Cluster& cluster, const std::string& storage_root);

// Warns a submitter of a file that no connected node lets the run read. Empty when one does, when
// no node is connected, or when a node does not report its data roots.
std::string DataRootsWarning(const std::vector<runspec::NamedFile>& files,
                             const Submission& submission, const Cluster& cluster,
                             const std::string& storage_root);

// Whether every file, or for a pattern at least one, can be read here and now. Reads directories.
bool SeesFiles(const std::vector<runspec::NamedFile>& files);

}  // namespace gp::coordinator
