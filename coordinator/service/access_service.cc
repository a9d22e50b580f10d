#include "coordinator/service/access_service.h"

#include "base/text/excerpt.h"
#include "coordinator/service/audit_source.h"
#include "rpc/timestamp.h"

namespace gp::coordinator {
namespace {

using ProtoTime = google::protobuf::Timestamp;

constexpr int64_t kTtlSecondsMax = int64_t{10} * 366 * 24 * 3600;

ProtoTime ToProtoTime(WallTime time) { return rpc::ToTimestamp(time.time_since_epoch().count()); }

void FillRoles(const Roles& roles, google::protobuf::Map<std::string, std::string>& to) {
  for (const auto& [name, role] : roles.by_namespace()) to[name] = Name(role);
}

StatusOr<Roles> RolesOf(const google::protobuf::Map<std::string, std::string>& from) {
  Roles roles;
  for (const auto& [name, role_name] : from) {
    ASSIGN_OR_RETURN(const Role role, ParseRole(role_name));
    roles.Grant(name, role);
  }
  return roles;
}

v1::TokenInfo InfoOf(const TokenRecord& record) {
  v1::TokenInfo info;
  info.set_id(record.id);
  info.set_kind(Name(record.kind));
  info.set_name(record.name);
  FillRoles(record.roles, *info.mutable_roles());
  info.set_created_by(record.created_by);
  *info.mutable_created_at() = ToProtoTime(record.created_at);
  if (record.expires_at) *info.mutable_expires_at() = ToProtoTime(*record.expires_at);
  if (record.last_used_at) *info.mutable_last_used_at() = ToProtoTime(*record.last_used_at);
  if (record.revoked_at) *info.mutable_revoked_at() = ToProtoTime(*record.revoked_at);
  if (record.kind == rpc::TokenKind::kJoin) {
    info.set_redeemed_by(record.redeemed_by);
    info.set_uses_max(record.uses_max);
    info.set_uses(record.uses);
  }
  return info;
}

// A join token lets a machine into the whole fleet, so it belongs to every namespace.
bool Administers(const Principal& principal, const TokenRecord& record) {
  if (record.kind == rpc::TokenKind::kJoin) {
    return principal.roles.In(kEveryNamespace) == Role::kAdmin;
  }
  return principal.roles.Covers(record.roles, Role::kAdmin);
}

StatusOr<NewToken> WantedOf(const v1::CreateTokenRequest& request, WallTime now) {
  NewToken wanted{.name = request.name()};
  if (request.kind() != "user" && request.kind() != "join") {
    return InvalidArgument("'{}' is not a kind of token; expected user or join",
                           Excerpt(request.kind()));
  }
  if (request.kind() == "join") wanted.kind = rpc::TokenKind::kJoin;
  ASSIGN_OR_RETURN(wanted.roles, RolesOf(request.roles()));
  if (request.ttl_seconds() < 0 || request.ttl_seconds() > kTtlSecondsMax) {
    return InvalidArgument("ttl_seconds is {}; expected 0 (no end) to {}", request.ttl_seconds(),
                           kTtlSecondsMax);
  }
  if (request.ttl_seconds() > 0) {
    wanted.expires_at = now + std::chrono::seconds(request.ttl_seconds());
  }
  if (request.uses_max() != 0) wanted.uses_max = request.uses_max();
  return wanted;
}

// Describes the new token in the audit log.
std::string TargetOf(const TokenRecord& record) {
  const std::string given = record.kind == rpc::TokenKind::kJoin
                                ? fmt::format("uses={}", record.uses_max)
                                : record.roles.Text();
  return fmt::format("{} token {} for {} ({})", Name(record.kind), record.id, record.name, given);
}

}  // namespace

AccessService::AccessService(const ServiceContext& context, TokenStore& tokens,
                             const AuditLog& audit, const Clock& clock)
    : MethodService(context), tokens_(tokens), audit_(audit), clock_(clock) {
  OnQuery<v1::WhoAmIRequest, v1::WhoAmIResponse>(
      "WhoAmI", [this](const AdmittedCall& access, const auto&, auto& response) {
        return FillWhoAmI(access, response);
      });
  OnQuery<v1::CreateTokenRequest, v1::CreateTokenResponse>(
      "CreateToken", [this](AdmittedCall& access, const auto& request, auto& response) {
        return FillCreated(access, request, response);
      });
  OnQuery<v1::ListTokensRequest, v1::ListTokensResponse>(
      "ListTokens", [this](const AdmittedCall& access, const auto&, auto& response) {
        return FillTokens(access, response);
      });
  OnQuery<v1::RevokeTokenRequest, v1::TokenInfo>(
      "RevokeToken", [this](AdmittedCall& access, const auto& request, auto& response) {
        return FillRevoked(access, request, response);
      });
  OnStream<v1::AuditRequest, v1::AuditLine>(
      "Audit", audits_, [this](AdmittedCall&, const v1::AuditRequest& of) {
        return OpenedSource<v1::AuditLine>{
            std::make_unique<AuditSource>(audit_.directory(), of.after_sequence()), RunId()};
      });
}

Status AccessService::FillWhoAmI(const AdmittedCall& access, v1::WhoAmIResponse& response) const {
  const Principal& principal = access.principal();
  response.set_name(principal.Text());
  FillRoles(principal.roles, *response.mutable_roles());
  if (principal.kind != Principal::Kind::kUser) return OkStatus();
  response.set_token_id(principal.token_id);
  ASSIGN_OR_RETURN(const TokenRecord record, tokens_.Find(principal.token_id));
  if (record.expires_at) *response.mutable_expires_at() = ToProtoTime(*record.expires_at);
  return OkStatus();
}

Status AccessService::FillCreated(AdmittedCall& access, const v1::CreateTokenRequest& request,
                                  v1::CreateTokenResponse& response) {
  access.Describe(request.kind() + " token for " + request.name(), request.request_id());
  ASSIGN_OR_RETURN(NewToken wanted, WantedOf(request, clock_.WallNow()));
  const bool may = wanted.kind == rpc::TokenKind::kJoin
                       ? access.principal().roles.In(kEveryNamespace) == Role::kAdmin
                       : access.principal().roles.Covers(wanted.roles, Role::kAdmin);
  if (!may) {
    return access.Deny(
        fmt::format("{} may not make this token: it requires the role admin in each namespace of "
                    "the token, and "
                    "in every namespace for a join token; ask an admin who has it",
                    access.principal().Text()));
  }
  wanted.created_by = access.principal().Text();
  ASSIGN_OR_RETURN(const IssuedToken issued, tokens_.Create(wanted));
  *response.mutable_info() = InfoOf(issued.record);
  response.set_token(rpc::TokenText(issued.token));
  access.Describe(TargetOf(issued.record));
  return OkStatus();
}

Status AccessService::FillTokens(const AdmittedCall& access,
                                 v1::ListTokensResponse& response) const {
  for (const TokenRecord& record : tokens_.List()) {
    if (Administers(access.principal(), record)) *response.add_tokens() = InfoOf(record);
  }
  return OkStatus();
}

Status AccessService::FillRevoked(AdmittedCall& access, const v1::RevokeTokenRequest& request,
                                  v1::TokenInfo& response) {
  access.Describe("token " + request.id(), request.request_id());
  ASSIGN_OR_RETURN(const TokenRecord record, tokens_.Find(request.id()));
  if (!Administers(access.principal(), record)) {
    return access.Deny(fmt::format(
        "{} may not revoke this token: it requires the role admin in each of its namespaces",
        access.principal().Text()));
  }
  ASSIGN_OR_RETURN(const TokenRecord revoked, tokens_.Revoke(request.id()));
  response = InfoOf(revoked);
  return OkStatus();
}

}  // namespace gp::coordinator
