// Authority: gp's own certificate authority: a key and its self-signed certificate. It signs the
// certificates of the coordinator and of nodes. May be used from any thread; not by two at a time.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "security/certificate.h"
#include "security/certificate_request.h"
#include "security/private_key.h"

namespace gp::security {

class Authority {
 public:
  // Makes a new authority, valid for ten years.
  static Authority Create(WallTime now);
  // Reads an authority. FailedPrecondition when key and certificate do not belong together, or the
  // certificate is not an authority's; InvalidArgument when one cannot be read.
  static StatusOr<Authority> Read(std::string_view certificate_pem, std::string_view key_pem);

  const Certificate& certificate() const { return certificate_; }
  std::string KeyPem() const { return key_.Pem(); }

  // A certificate for a server that is reached as any of `hosts` (IP addresses or DNS names).
  // InvalidArgument when there are none, more than 128, or one is neither. Issued certificates end
  // with the authority's own at the latest.
  StatusOr<Certificate> IssueServer(const PrivateKey& key, const std::vector<std::string>& hosts,
                                    WallTime now, std::chrono::nanoseconds lifetime) const;
  // Issues a certificate that identifies a node as `uri` when it is a client, and under the name
  // kNodeHost when it is a server. Of the request, only the key is used.
  StatusOr<Certificate> IssueClient(const CertificateRequest& request, const std::string& uri,
                                    WallTime now, std::chrono::nanoseconds lifetime) const;

 private:
  Authority(PrivateKey key, Certificate certificate)
      : key_(std::move(key)), certificate_(std::move(certificate)) {}

  StatusOr<Certificate> Issue(EVP_PKEY* key, const std::string& name, const std::string& usage,
                              const std::string& alternative_names, WallTime now,
                              std::chrono::nanoseconds lifetime) const;

  PrivateKey key_;
  Certificate certificate_;
};

}  // namespace gp::security
