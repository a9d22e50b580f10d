// What files a submitted run may name, as far as the coordinator can tell: it knows who submitted
// the run and what its catalogue holds. Whether a path lies beneath a node's data roots is that
// node's to decide (worker/agent/run_files.h). Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "coordinator/state/cluster.h"
#include "runspec/named_file.h"

namespace gp::coordinator {

// InvalidArgument names the key and the path: one that is not absolute; and, unless the submission
// is of the owner, one beneath the runs of `storage_root` that is no checkpoint which the catalogue
// holds for a run of the same namespace.
Status CheckNamedFiles(const std::vector<runspec::NamedFile>& files, const Submission& submission,
                       const Cluster& cluster, const std::string& storage_root);

// What a submitter is warned of: a file that no connected node lets the run read. Empty when a node
// does, when none is connected, or when a node does not tell its data roots.
std::string DataRootsWarning(const std::vector<runspec::NamedFile>& files,
                             const Submission& submission, const Cluster& cluster,
                             const std::string& storage_root);

// Whether every file, or for a pattern at least one, can be read here and now. Reads directories.
bool SeesFiles(const std::vector<runspec::NamedFile>& files);

}  // namespace gp::coordinator
