// AccessGate: checks every call to the coordinator's services. Every handler calls Admit first, on
// gRPC's thread; it reads memory only. The subject of a request is known once a lane has read it:
// then the handler calls Authorize of the AdmittedCall that Admit returned. Owned by the daemon;
// thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"
#include "coordinator/access/access_table.h"
#include "coordinator/access/audit_log.h"
#include "coordinator/access/call_limits.h"
#include "coordinator/access/node_registry.h"
#include "coordinator/access/principal.h"
#include "coordinator/access/token_store.h"
#include "rpc/caller.h"

namespace gp::coordinator {

struct AccessGateOptions {
  // Anyone who connects over TCP without TLS is admin: the coordinator was started with --insecure.
  bool plain_network_is_admin = false;
  CallLimitsOptions limits;  // for each token; nodes and the socket's owner have none
  // Decides which nodes' certificates are valid; null: every one that TLS has verified. Outlives
  // the gate.
  const NodeRegistry* nodes = nullptr;
};

class AccessGate;

// One call that the gate has admitted. Lives as long as the call; thread-safe.
class AdmittedCall {
 public:
  AdmittedCall(AccessGate& gate, const AccessRule& rule, Principal principal);

  const Principal& principal() const { return principal_; }
  const AccessRule& rule() const { return rule_; }

  // The subject of the call, for the audit log; empty texts change nothing.
  void Describe(const std::string& target, const std::string& request_id = "");

  // OK when the principal has the method's least role in `run_namespace`. PermissionDenied names
  // the role that is missing and is audited.
  Status Authorize(const std::string& run_namespace);
  // PermissionDenied, audited, with this reason.
  Status Deny(const std::string& reason);
  // The role in a namespace; nullopt: the principal must not see its contents.
  std::optional<Role> RoleIn(const std::string& run_namespace) const {
    return principal_.roles.In(run_namespace);
  }

  // Counts the call as an open stream of its token for as long as it lives. ResourceExhausted,
  // audited: the token has too many. Always OK for callers without a token.
  Status BecomeStream();

  // Unauthenticated or PermissionDenied once the token or the node was revoked or has expired. A
  // stream must end then.
  Status Check() const;

  // Records the outcome of a call that changed something or tried to, and calls `answer` with the
  // status to be answered: at once after an error; after a success when the record is durable, on
  // the log's thread. If that record cannot be written, `answer` gets Internal, although the change
  // was made.
  void Conclude(const Status& outcome, std::function<void(const Status&)> answer);

 private:
  formats::AuditRecord RecordOf(const Status& outcome) const;

  AccessGate& gate_;
  const AccessRule& rule_;
  const Principal principal_;

  std::shared_ptr<void> stream_place_;  // set once, before others see the call

  mutable Mutex mutex_;
  std::string target_ GUARDED_BY(mutex_);
  std::string request_id_ GUARDED_BY(mutex_);
  bool refused_ GUARDED_BY(mutex_) = false;  // Deny has recorded a refusal
};

class AccessGate {
 public:
  // `tokens`, `audit` and `clock` must outlive the gate.
  AccessGate(TokenStore& tokens, AuditLog& audit, const Clock& clock,
             const AccessGateOptions& options)
      : tokens_(tokens), audit_(audit), options_(options), limits_(clock, options.limits) {}

  // Unauthenticated: no credential, an invalid token, or an expired node certificate.
  // PermissionDenied: the method has no row, the caller has the least role nowhere, a user called a
  // node's method, or the node was revoked. ResourceExhausted: the token is used too often.
  // Unavailable: the method changes something, is not a node's, and the audit log cannot be
  // written. All are audited.
  StatusOr<std::shared_ptr<AdmittedCall>> Admit(const rpc::Caller& caller, std::string_view method);

 private:
  friend class AdmittedCall;

  StatusOr<Principal> Identify(const rpc::Caller& caller);
  Status CheckRule(const AccessRule& rule, const Principal& principal) const;
  Status CheckAudit(const AccessRule& rule) const;

  TokenStore& tokens_;
  AuditLog& audit_;
  const AccessGateOptions options_;
  CallLimits limits_;
};

}  // namespace gp::coordinator
