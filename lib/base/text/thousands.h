// Whole numbers for people, with a comma after each three digits. Pure function; thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace gp {

std::string WithThousands(int64_t value);  // 7,362

}  // namespace gp
