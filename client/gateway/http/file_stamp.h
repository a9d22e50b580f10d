// FileStamp: tells whether a file was replaced or written. Waits for the disk; any thread.
#pragma once

#include <string>

namespace gp::gateway {

// Changes when the file does. Empty when there is none.
std::string StampOf(const std::string& path);

}  // namespace gp::gateway
