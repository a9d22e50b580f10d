// A budget on the command line: "500" is the total, "+200" is added. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace gp::gpctl {

struct Amount {
  int64_t value = 0;
  bool more = false;  // written with a plus sign
};

// InvalidArgument names `flag` unless `text` is a whole number of 1 or more, or one with a plus
// sign.
StatusOr<Amount> ParseAmount(const std::string& flag, const std::string& text);

}  // namespace gp::gpctl
