// Tells paths of this machine from addresses of other storage. Pure; thread-safe.
#pragma once

#include <string_view>

#include "base/status.h"

namespace gp {

// OK when `text` may be a path of this machine. InvalidArgument when it is an address such as
// s3://bucket/folder or https://host/file: gp opens only files, and as a relative path the address
// would become a folder named "s3:". Every path that a user names is checked here: flags
// (Flag::Path), keys of run files and settings (Field::is_path), environment variables.
Status CheckLocalPath(std::string_view text);

}  // namespace gp
