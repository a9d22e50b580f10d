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

// InvalidArgument, with the key and the path, for a relative path; and, unless the owner submitted,
// for a path below the runs of `storage_root` that is not in a sealed, unretired checkpoint of a
// run of the same namespace.
Status CheckNamedFiles(const std::vector<runspec::NamedFile>& files, const Submission& submission,
                       const Cluster& cluster, const std::string& storage_root);

// Warns a submitter of the first file that no connected node lets the run read. Empty when each
// file is readable on some connected node, when no node is connected, or when a node does not
// report its data roots. Ignores files below the runs of `storage_root`.
std::string DataRootsWarning(const std::vector<runspec::NamedFile>& files,
                             const Submission& submission, const Cluster& cluster,
                             const std::string& storage_root);

// InvalidArgument, with the key and the path, for a path below the runs of `storage_root` where
// nothing is, in the directory of a run that the catalogue does not know: it will not come back. A
// deleted run is known (InitialModelRefusal). Reads directories; other users than the owner must
// not find out which files exist, and CheckNamedFiles refuses such paths of theirs before.
Status CheckUnknownRuns(const std::vector<runspec::NamedFile>& files, const Cluster& cluster,
                        const std::string& storage_root);

// Whether the coordinator can read every file now. A pattern needs at least one match, and all its
// matches must be readable. Reads directories.
bool SeesFiles(const std::vector<runspec::NamedFile>& files);

}  // namespace gp::coordinator
