// How the warning of a run that diverged begins: the trainer writes it, the coordinator recognises
// it. A constant.
#pragma once

#include <string_view>

namespace gp::contract {

inline constexpr std::string_view kDivergedPrefix = "diverged: ";

}  // namespace gp::contract
