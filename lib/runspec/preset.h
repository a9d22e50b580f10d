// Presets: named starting points for a run file. A preset is a run file itself. Constant;
// thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gp::runspec {

// In the order in which lists show them.
std::vector<std::string> PresetNames();

// The preset's run file; empty for an unknown name.
std::string_view PresetText(std::string_view name);

// One line about its purpose; empty for an unknown name.
std::string_view PresetSummary(std::string_view name);

}  // namespace gp::runspec
