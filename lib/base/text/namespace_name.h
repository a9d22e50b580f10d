// Names of namespaces, to which runs and roles belong. May be called from any thread.
#pragma once

#include <string_view>

namespace gp {

// Stands for every namespace where a list of namespaces is accepted.
inline constexpr char kEveryNamespace[] = "*";

inline constexpr char kNamespaceRule[] =
    "1 to 63 lower-case letters, digits, '.', '_' or '-', with a letter or a digit first";

// Whether `name` follows kNamespaceRule.
bool IsNamespaceName(std::string_view name);

}  // namespace gp
