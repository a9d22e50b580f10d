#include "coordinator/access/role.h"

#include <algorithm>

#include "base/text/excerpt.h"

namespace gp::coordinator {

const char* Name(Role role) {
  switch (role) {
    case Role::kViewer:
      return "viewer";
    case Role::kSubmitter:
      return "submitter";
    case Role::kOperator:
      return "operator";
    case Role::kAdmin:
      return "admin";
  }
  return "?";
}

StatusOr<Role> ParseRole(std::string_view name) {
  for (const Role role : {Role::kViewer, Role::kSubmitter, Role::kOperator, Role::kAdmin}) {
    if (name == Name(role)) return role;
  }
  return InvalidArgument("'{}' is not a role; the roles are viewer, submitter, operator and admin",
                         Excerpt(name));
}

Status CheckNamespaceName(std::string_view name) {
  if (IsNamespaceName(name)) return OkStatus();
  return InvalidArgument("'{}' is not a valid namespace; expected {}", Excerpt(name),
                         kNamespaceRule);
}

std::optional<Role> Roles::In(const std::string& name) const {
  std::optional<Role> role;
  for (const std::string& key : {name, std::string(kEveryNamespace)}) {
    const auto found = roles_.find(key);
    if (found != roles_.end() && (!role || found->second > *role)) role = found->second;
  }
  return role;
}

std::optional<Role> Roles::Highest() const {
  std::optional<Role> role;
  for (const auto& [name, of_name] : roles_) {
    if (!role || of_name > *role) role = of_name;
  }
  return role;
}

bool Roles::Covers(const Roles& others, Role least) const {
  return std::all_of(others.roles_.begin(), others.roles_.end(), [&](const auto& entry) {
    const std::optional<Role> own = In(entry.first);
    return own && *own >= least;
  });
}

std::string Roles::Text() const {
  std::string text;
  for (const auto& [name, role] : roles_) {
    if (!text.empty()) text += ",";
    text += name + "=" + Name(role);
  }
  return text;
}

StatusOr<Roles> ParseRoles(std::string_view text) {
  Roles roles;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view entry = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      return InvalidArgument("'{}' is not NAMESPACE=ROLE", Excerpt(entry));
    }
    const std::string name(entry.substr(0, equals));
    if (name != kEveryNamespace) RETURN_IF_ERROR(CheckNamespaceName(name));
    ASSIGN_OR_RETURN(const Role role, ParseRole(entry.substr(equals + 1)));
    roles.Grant(name, role);
  }
  return roles;
}

}  // namespace gp::coordinator
