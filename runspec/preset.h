// Presets: named starting points for a run file, written as run files themselves. Constant;
// thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gp::runspec {

// In the order they are listed to people.
std::vector<std::string> PresetNames();

// The preset's run file; empty for an unknown name.
std::string_view PresetText(std::string_view name);

// One line on what it is for; empty for an unknown name.
std::string_view PresetSummary(std::string_view name);

}  // namespace gp::runspec
