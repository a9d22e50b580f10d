#include "base/text/counted_noun.h"

#include <fmt/format.h>

namespace gp {

std::string CountedNoun(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace gp
