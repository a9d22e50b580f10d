// The shared credentials file of AWS's tools: profiles in the style of INI files. Pure;
// thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/object/credentials.h"

namespace gp::object {

// NotFound: `text` has no such profile. InvalidArgument: the profile has no key. Neither message
// quotes a line of the file.
StatusOr<Credentials> ParseCredentialsFile(std::string_view text, const std::string& profile);

}  // namespace gp::object
