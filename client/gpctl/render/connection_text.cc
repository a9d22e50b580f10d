#include "client/gpctl/render/connection_text.h"

#include <fmt/format.h>

#include <set>

namespace gp::gpctl {

std::string ConnectionSecurity(const client::RunClient& client) {
  if (client.address().starts_with("unix:")) return "unix";
  return client.has_tls() ? "tls" : "none";
}

std::string ConnectionText(const client::RunClient& client) {
  const std::string security = ConnectionSecurity(client);
  if (security == "unix") return "Unix socket of this machine, which only its owner can open";
  if (security == "tls") return "TLS 1.3 to " + client.address();
  return fmt::format("not encrypted to {}: anyone on the network path can read and change it",
                     client.address());
}

std::string EncryptionText(bool encrypted) {
  return encrypted ? "encrypted between nodes (TLS 1.3)"
                   : "not encrypted between nodes (gradients.encrypted of gp-coordinator is off)";
}

std::string GradientsText(const v1::Run& run) {
  std::set<std::string> nodes;
  for (const v1::RankPlacement& rank : run.placement()) nodes.insert(rank.node_id());
  if (nodes.size() < 2 || !run.has_gradients_encrypted()) return "";
  if (run.gradients_encrypted()) return EncryptionText(true);
  return "not encrypted between nodes (gradients.encrypted of gp-coordinator was off when these "
         "ranks started)";
}

}  // namespace gp::gpctl
