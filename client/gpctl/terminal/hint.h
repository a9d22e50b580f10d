// Hint: a command that a person may type next. It works when it is pasted into the shell that gpctl
// was called from. Functions without side effects; some look for programs on the disk. Any thread.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/terminal/console.h"

namespace gp::gpctl {

// The program that a shell would run for `name`; "" if there is none.
std::string FoundOnPath(const Console& console, const std::string& name);

// The word that starts this gpctl: "gpctl" when the search path finds it, else its path.
std::string ProgramWord(const Console& console);

// "run.yaml", or the first name like it that does not exist in the working directory.
std::string FreeRunFileName(const Console& console);

// Lines that suggest the next commands, one each.
std::string NextText(const std::vector<std::string>& commands);

}  // namespace gp::gpctl
