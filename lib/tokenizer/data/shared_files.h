// Finds files that are used for both training and validation, which makes the validation loss
// meaningless. Reads the file system; any thread may call.
#pragma once

#include <string>
#include <vector>

namespace gp {

// A sentence that names the first file of `validation` (data.val) that is also in `train`, the
// files of `key`, even under another name or through a link; empty if there is none. Skips paths
// that do not exist.
std::string DescribeSharedFiles(const std::vector<std::string>& train,
                                const std::vector<std::string>& validation, const char* key);

}  // namespace gp
