#include "base/text/namespace_name.h"

namespace gp {

bool IsNamespaceName(std::string_view name) {
  constexpr size_t kBytesMax = 63;
  constexpr std::string_view kFirst = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr std::string_view kRest = "abcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && name.size() <= kBytesMax &&
         kFirst.find(name.front()) != std::string_view::npos &&
         name.find_first_not_of(kRest) == std::string_view::npos;
}

}  // namespace gp
