#include "rpc/server_certificates.h"

#include <algorithm>

#include "base/file.h"
#include "rpc/listen_address.h"
#include "security/fetched_chain.h"

namespace gp::rpc {
namespace {

using security::Certificate;
using security::TimeText;
using Chain = std::vector<Certificate>;

Status CheckClock(const Chain& chain, const std::string& address, WallTime now) {
  for (const Certificate& certificate : chain) {
    const security::Lifetime life = certificate.lifetime();
    if (now < life.begin) {
      return FailedPrecondition(
          "the certificate of {} is not valid before {}, and this machine's clock says {}: set the "
          "clock; if it is right, set the coordinator's, which is ahead, and restart the "
          "coordinator",
          address, TimeText(life.begin), TimeText(now));
    }
    if (now > life.end) {
      return FailedPrecondition(
          "the certificate of {} was valid until {}, and this machine's clock says {}: set the "
          "clock; if it is right, restart the coordinator, which then makes a new one",
          address, TimeText(life.end), TimeText(now));
    }
  }
  return OkStatus();
}

Status CheckAuthority(const Chain& chain, const std::string& address, const std::string& ca) {
  ASSIGN_OR_RETURN(const std::string pem, ReadFile(ca));
  ASSIGN_OR_RETURN(const Chain authorities, Certificate::ChainFromPem(pem));
  const auto is_trusted = [&](const Certificate& certificate) {
    return std::any_of(authorities.begin(), authorities.end(), [&](const Certificate& authority) {
      return certificate.Digest() == authority.Digest() || certificate.IsSignedBy(authority);
    });
  };
  if (std::any_of(chain.begin(), chain.end(), is_trusted)) return OkStatus();
  return PermissionDenied(
      "the authority in {} has not signed the certificate of {}: another coordinator answers "
      "there, "
      "or its authority was replaced",
      ca, address);
}

}  // namespace

Status ExplainCertificates(const std::string& address, const ChannelTls& tls, WallTime now,
                           std::chrono::nanoseconds timeout) {
  if (address.starts_with("unix:")) return OkStatus();
  const auto place = ParseListenAddress(address);
  if (!place.ok()) return OkStatus();
  const auto chain = security::FetchChain({place->host, place->port}, timeout);
  if (!chain.ok() || chain->empty()) return OkStatus();
  RETURN_IF_ERROR(CheckClock(*chain, address, now));
  return CheckAuthority(*chain, address, tls.ca);
}

}  // namespace gp::rpc
