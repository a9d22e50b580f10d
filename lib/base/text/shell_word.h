// Quotes a word of a command that a person may paste into a shell. A pure function.
#pragma once

#include <string>

namespace gp {

// `word` quoted as a single shell word; unchanged if that is not needed.
std::string ShellWord(const std::string& word);

}  // namespace gp
