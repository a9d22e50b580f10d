// The name of a file in the same folder as the file that names it. Pure.
#pragma once

#include <string_view>

namespace gp::formats {

// False for a name that leads out of the folder.
inline bool IsPlainName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

}  // namespace gp::formats
