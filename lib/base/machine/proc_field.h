// Reads the "name: value" lines of files such as /proc/cpuinfo and /proc/meminfo. Pure;
// thread-safe.
#pragma once

#include <string>

namespace gp {

// The value of the first line of `text` that begins with `name` (a prefix is enough: "model" also
// finds "model name") and has a colon; empty if there is none.
std::string ProcField(const std::string& text, const std::string& name);

}  // namespace gp
