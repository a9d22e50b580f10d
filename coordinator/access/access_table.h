// AccessTable: one row for each method of each service: the required role, whether its successes
// are audited, which lane answers it and how long a request may be. A method without a row is
// refused (docs/security/access.md shows the table; tests compare it with the protos and with that
// page). Refusals of any method are audited.
// Immutable; thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace gp::coordinator {

// The least role that a caller needs.
enum class Least {
  kNobody,  // the method checks by itself what the caller sends, such as a join token
  kNode,    // a node's certificate, the owner of the socket, or anyone with --insecure; no users
  kViewer,
  kSubmitter,
  kOperator,
  kAdmin,
};

// "none (join token in the request)", "node", or the role's name.
const char* Name(Least least);

// Where the caller must have that role.
enum class Where {
  kSomewhere,    // in at least one namespace; the answer depends on which
  kInNamespace,  // in the namespace of the run that the request names, known once it is read
  kEverywhere,   // in every namespace
};

const char* Name(Where where);

// The threads that parse a request and answer it: a pool for each resource that can block.
enum class Lane {
  kQueries,  // memory
  kSubmits,  // run files
  kTokens,   // the local disk: tokens, node certificates, the queue of notifications
  kStreams,  // the runs' records
  kNone,     // gRPC's own threads
};

// A longer request is refused before it is parsed.
inline constexpr size_t kRequestBytesMax = 16 << 10;                // ids, tokens and numbers
inline constexpr size_t kSubmitBytesMax = (1 << 20) + (256 << 10);  // a run file and its overrides
inline constexpr size_t kEnrollmentBytesMax = 64 << 10;  // certificate request with token, ~2 KB

struct AccessRule {
  std::string_view method;  // "gp.v1.RunService/Submit"
  Least least;
  Where where;
  bool mutates;  // a success is answered only when it is in the audit log
  Lane lane;
  size_t request_bytes_max = kRequestBytesMax;
};

std::span<const AccessRule> AccessTable();

// Null: no row, so all callers are refused.
const AccessRule* FindRule(std::string_view method);

}  // namespace gp::coordinator
