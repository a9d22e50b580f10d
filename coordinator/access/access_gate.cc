#include "coordinator/access/access_gate.h"

#include <utility>

#include "base/random_id.h"
#include "base/text/excerpt.h"

namespace gp::coordinator {
namespace {

constexpr size_t kAuditIdCharacters = 12;

const char* CodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kCancelled:
      return "CANCELLED";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kAborted:
      return "ABORTED";
    case StatusCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kDataLoss:
      return "DATA_LOSS";
    case StatusCode::kUnauthenticated:
      return "UNAUTHENTICATED";
    default:
      return "INTERNAL";
  }
}

// REQUIRES: `least` is a role.
Role RoleOf(Least least) {
  switch (least) {
    case Least::kSubmitter:
      return Role::kSubmitter;
    case Least::kOperator:
      return Role::kOperator;
    case Least::kAdmin:
      return Role::kAdmin;
    default:
      return Role::kViewer;
  }
}

// `where`: the namespace in words, for the message. `run_namespace`: the same as an argument of the
// command that the message suggests.
Status MissingRole(const Principal& principal, const AccessRule& rule, const std::string& where,
                   const std::string& run_namespace) {
  const bool is_user = principal.kind == Principal::Kind::kUser;
  return PermissionDenied(
      "{} may not call {}: it needs the role {} {}; an admin can create a token with it: gpctl "
      "token create --name {} --role {} --namespace {}",
      principal.Text(), rule.method, Name(rule.least), where, is_user ? principal.name : "NAME",
      Name(rule.least), run_namespace);
}

formats::AuditRecord RefusalOf(const Principal& principal, std::string_view method,
                               const Status& why) {
  return {.principal = principal.Text(),
          .token = principal.token_id,
          .address = principal.address,
          .method = std::string(method),
          .request_id = RandomId(kAuditIdCharacters),
          .outcome = CodeName(why.code()),
          .message = Message(why)};
}

}  // namespace

StatusOr<Principal> AccessGate::Identify(const rpc::Caller& caller) {
  Principal principal{.address = caller.address};
  if (!caller.bearer.empty()) {
    if (caller.is_plain_network) {
      return Unauthenticated(
          "the token came over a connection without TLS, where others may have read it; revoke it "
          "('gpctl token revoke') and use a coordinator with TLS");
    }
    const auto token = rpc::ParseToken(caller.bearer);
    if (!token.ok()) {
      return Unauthenticated("the credential of this call is not a token; see 'gpctl help login'");
    }
    ASSIGN_OR_RETURN(const auto record, tokens_.Authenticate(*token));
    principal.kind = Principal::Kind::kUser;
    principal.name = record->name;
    principal.token_id = record->id;
    principal.roles = record->roles;
  } else if (!caller.node_id.empty()) {
    principal.kind = Principal::Kind::kNode;
    principal.name = caller.node_id;
    principal.node_lifetime = caller.node_lifetime;
    if (options_.nodes != nullptr) {
      RETURN_IF_ERROR(options_.nodes->Check(caller.node_id, caller.node_lifetime));
    }
  } else if (caller.is_socket_owner) {
    principal.kind = Principal::Kind::kOwner;
    principal.roles = Roles::AdminEverywhere();
  } else if (caller.is_plain_network && options_.plain_network_is_admin) {
    principal.kind = Principal::Kind::kAnyone;
    principal.roles = Roles::AdminEverywhere();
  } else {
    return Unauthenticated(
        "the call has no token; 'gpctl login HOST:PORT --token-file FILE' stores one for later "
        "calls, GPCTL_TOKEN_FILE names one for this call");
  }
  return principal;
}

Status AccessGate::CheckRule(const AccessRule& rule, const Principal& principal) const {
  if (rule.least == Least::kNobody) return OkStatus();
  if (rule.least == Least::kNode) {
    if (principal.kind != Principal::Kind::kUser) return OkStatus();
    return PermissionDenied(
        "{} is not a node; a machine joins with 'gp-worker --join-token-file FILE' and the token "
        "of "
        "'gpctl token create --join'",
        principal.Text());
  }
  const std::optional<Role> role = rule.where == Where::kEverywhere
                                       ? principal.roles.In(kEveryNamespace)
                                       : principal.roles.Highest();
  if (role && *role >= RoleOf(rule.least)) return OkStatus();
  const bool everywhere = rule.where == Where::kEverywhere;
  return MissingRole(principal, rule, Name(rule.where), everywhere ? "'*'" : "NAMESPACE");
}

// Refuses changes while the audit log cannot be written. Admit records this refusal too, which also
// tests whether the log works again. Nodes are still served, because training must not wait for the
// log.
Status AccessGate::CheckAudit(const AccessRule& rule) const {
  if (!rule.mutates || rule.least == Least::kNode) return OkStatus();
  const Status health = audit_.health();
  if (health.ok()) return OkStatus();
  // Not Unavailable: a client would try again, and say that the coordinator cannot be reached.
  return ResourceExhausted(
      "the audit log cannot be written ({}), so changes are refused; free space or repair the disk "
      "of the state directory",
      gp::Message(health));
}

StatusOr<std::shared_ptr<AdmittedCall>> AccessGate::Admit(const rpc::Caller& caller,
                                                          std::string_view method) {
  const AccessRule* rule = FindRule(method);
  StatusOr<Principal> principal = rule != nullptr && rule->least == Least::kNobody
                                      ? Principal{.address = caller.address}
                                      : Identify(caller);
  Status admitted = principal.status();
  if (admitted.ok()) {
    admitted = rule == nullptr ? PermissionDenied("{} has no access rule, so nobody may call it",
                                                  Excerpt(method))
                               : CheckRule(*rule, *principal);
  }
  if (admitted.ok() && principal->kind == Principal::Kind::kUser) {
    admitted = limits_.AdmitCall(principal->token_id);
  }
  if (admitted.ok()) admitted = CheckAudit(*rule);
  if (!admitted.ok()) {
    const Principal nobody{.address = caller.address};
    audit_.RecordRefusal(RefusalOf(principal.ok() ? *principal : nobody, method, admitted));
    return admitted;
  }
  return std::make_shared<AdmittedCall>(*this, *rule, *std::move(principal));
}

AdmittedCall::AdmittedCall(AccessGate& gate, const AccessRule& rule, Principal principal)
    : gate_(gate),
      rule_(rule),
      principal_(std::move(principal)),
      request_id_(RandomId(kAuditIdCharacters)) {}

void AdmittedCall::Describe(const std::string& target, const std::string& request_id) {
  MutexLock lock(mutex_);
  if (!target.empty()) target_ = target;
  if (!request_id.empty()) request_id_ = request_id;
}

Status AdmittedCall::Authorize(const std::string& run_namespace) {
  const std::optional<Role> role = RoleIn(run_namespace);
  if (role && *role >= RoleOf(rule_.least)) return OkStatus();
  const Status why =
      MissingRole(principal_, rule_, fmt::format("in the namespace {}", Excerpt(run_namespace)),
                  Excerpt(run_namespace));
  return Deny(gp::Message(why));
}

Status AdmittedCall::Deny(const std::string& reason) {
  const Status why = PermissionDenied("{}", reason);
  {
    MutexLock lock(mutex_);
    refused_ = true;
  }
  gate_.audit_.RecordRefusal(RecordOf(why));
  return why;
}

Status AdmittedCall::BecomeStream() {
  if (principal_.kind != Principal::Kind::kUser) return OkStatus();
  auto place = gate_.limits_.ReserveStream(principal_.token_id);
  if (!place.ok()) {
    gate_.audit_.RecordRefusal(RecordOf(place.status()));
    return place.status();
  }
  stream_place_ = *std::move(place);
  return OkStatus();
}

Status AdmittedCall::Check() const {
  if (principal_.kind == Principal::Kind::kUser) return gate_.tokens_.Check(principal_.token_id);
  if (principal_.kind != Principal::Kind::kNode || gate_.options_.nodes == nullptr) {
    return OkStatus();
  }
  return gate_.options_.nodes->CheckStream(principal_.name, principal_.node_lifetime);
}

formats::AuditRecord AdmittedCall::RecordOf(const Status& outcome) const {
  formats::AuditRecord record = RefusalOf(principal_, rule_.method, outcome);
  MutexLock lock(mutex_);
  record.target = target_;
  record.request_id = request_id_;
  return record;
}

void AdmittedCall::Conclude(const Status& outcome, std::function<void(const Status&)> answer) {
  bool recorded = false;
  {
    MutexLock lock(mutex_);
    recorded = refused_;
  }
  if (!outcome.ok()) {
    if (!recorded) gate_.audit_.RecordRefusal(RecordOf(outcome));
    return answer(outcome);
  }
  gate_.audit_.Record(RecordOf(outcome), [answer = std::move(answer)](const Status& written) {
    if (written.ok()) return answer(OkStatus());
    answer(Internal("the change was made, but the audit log could not be written: {}",
                    gp::Message(written)));
  });
}

}  // namespace gp::coordinator
