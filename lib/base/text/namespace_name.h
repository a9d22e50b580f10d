// Names of namespaces, to which runs and roles belong. May be called from any thread.
#pragma once

#include <string_view>

namespace gp {

// Means every namespace where several may be named.
inline constexpr char kEveryNamespace[] = "*";

inline constexpr char kNamespaceRule[] =
    "1 to 63 lower-case letters, digits, '.', '_' or '-', with a letter or a digit first";

// Whether it follows the rule.
bool IsNamespaceName(std::string_view name);

}  // namespace gp
