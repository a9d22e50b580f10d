#include "coordinator/access/admin_token.h"

#include "base/file.h"

namespace gp::coordinator {
namespace {

constexpr char kMadeAtStart[] = "first-start";

Status WriteToken(const std::string& path, const rpc::Token& token) {
  return WriteFileAtomically(path, rpc::TokenText(token) + "\n", 0600);
}

Status RevokeEarlier(TokenStore& store) {
  for (const TokenRecord& record : store.List()) {
    if (record.created_by != kMadeAtStart || record.revoked_at) continue;
    RETURN_IF_ERROR(store.Revoke(record.id).status());
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::string> EnsureAdminToken(TokenStore& store, const std::string& security_dir) {
  const std::string path = JoinPath(security_dir, "admin.token");
  StatusOr<rpc::Token> token = rpc::ReadTokenFile(path);
  if (token.ok() && store.Find(token->id).ok()) {
    if (token->ca_digest == store.ca_digest()) return std::string();
    token->ca_digest = store.ca_digest();
    RETURN_IF_ERROR(WriteToken(path, *token));
    return path;
  }
  RETURN_IF_ERROR(RevokeEarlier(store));
  ASSIGN_OR_RETURN(const IssuedToken issued, store.Create({.name = "admin",
                                                           .roles = Roles::AdminEverywhere(),
                                                           .created_by = kMadeAtStart}));
  RETURN_IF_ERROR(WriteToken(path, issued.token));
  return path;
}

}  // namespace gp::coordinator
