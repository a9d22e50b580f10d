#include "base/text/counted_noun.h"

#include <fmt/format.h>

#include "base/text/thousands.h"

namespace gp {

std::string CountedNoun(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", WithThousands(count), noun, count == 1 ? "" : "s");
}

}  // namespace gp
