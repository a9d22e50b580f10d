// A number with its noun, for messages. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gp {

// "1 slot", "2 slots", "0 slots", "12,000 slots": for a noun whose plural ends in s.
std::string CountedNoun(int64_t count, std::string_view noun);

}  // namespace gp
