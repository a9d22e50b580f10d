// Role: what a principal may do in a namespace. Each role includes those before it. Roles: the
// roles of one principal by namespace. Values; thread-safe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/text/namespace_name.h"

namespace gp::coordinator {

enum class Role {
  kViewer = 1,     // looks at runs, their logs and metrics
  kSubmitter = 2,  // submits and cancels runs
  kOperator = 3,   // restores checkpoints; cordons, drains and revokes nodes
  kAdmin = 4,      // makes and revokes tokens, reads the audit log
};

const char* Name(Role role);
// InvalidArgument lists the roles.
StatusOr<Role> ParseRole(std::string_view name);

// For runs whose submitter names no namespace.
inline constexpr char kDefaultNamespace[] = "default";

// InvalidArgument with the rule unless it is one namespace's name.
Status CheckNamespaceName(std::string_view name);

class Roles {
 public:
  Roles() = default;
  Roles(std::initializer_list<std::pair<const std::string, Role>> roles) : roles_(roles) {}

  // The roles of the socket's owner, of anyone with --insecure, and of the first admin's token.
  static Roles AdminEverywhere() { return {{kEveryNamespace, Role::kAdmin}}; }

  // `name` is a namespace or kEveryNamespace.
  void Grant(const std::string& name, Role role) { roles_[name] = role; }
  // The higher one of the role in this namespace and the role in every namespace; nullopt: none.
  std::optional<Role> In(const std::string& name) const;
  // The highest role in any namespace.
  std::optional<Role> Highest() const;
  // Whether the holder has at least `least` in each namespace that `others` has a role in.
  bool Covers(const Roles& others, Role least) const;

  const std::map<std::string, Role>& by_namespace() const { return roles_; }
  bool empty() const { return roles_.empty(); }
  // "*=viewer,research=operator"; "" for none.
  std::string Text() const;
  bool operator==(const Roles&) const = default;

 private:
  std::map<std::string, Role> roles_;
};

// Parses the output of Roles::Text. InvalidArgument names the unreadable part.
StatusOr<Roles> ParseRoles(std::string_view text);

}  // namespace gp::coordinator
