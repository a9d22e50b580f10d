// AccessTable: what each method of each service asks of its caller. A method without a row is
// refused (docs/security/access.md shows the table; tests compare it with the protos and with that
// page). Immutable; thread-safe.
#pragma once

#include <span>
#include <string_view>

namespace gp::coordinator {

// What a caller must be, at least.
enum class Least {
  kNobody,  // the method checks by itself what the caller sends, such as a join token
  kNode,
  kViewer,
  kSubmitter,
  kOperator,
  kAdmin,
};

// "nobody", "node", or the role's name.
const char* Name(Least least);

// Where the caller must be it.
enum class Where {
  kSomewhere,    // in one namespace or more; what is answered depends on which
  kInNamespace,  // in the namespace of the run that the request names, known once it is read
  kEverywhere,   // in every namespace
};

const char* Name(Where where);

struct AccessRule {
  std::string_view method;  // "gp.v1.RunService/Submit"
  Least least;
  Where where;
  bool mutates;  // its outcome goes into the audit log before it is answered
};

std::span<const AccessRule> AccessTable();

// Null: no row, so nobody may.
const AccessRule* FindRule(std::string_view method);

}  // namespace gp::coordinator
