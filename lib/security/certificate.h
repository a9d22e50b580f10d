// Certificate: one X.509 certificate, to read. Values; may be read from any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "security/openssl.h"
#include "security/private_key.h"

namespace gp::security {

// Certificates are valid from this long before they are made, because the clocks of two machines
// differ.
inline constexpr std::chrono::minutes kClockSkew{5};

struct Lifetime {
  WallTime begin;
  WallTime end;

  // When two thirds have passed since it was made: time for the next certificate.
  WallTime RenewalTime() const {
    const WallTime made = begin + kClockSkew;
    return made + (end - made) * 2 / 3;
  }
};

class Certificate {
 public:
  explicit Certificate(CertificatePointer certificate) : certificate_(std::move(certificate)) {}

  // The first certificate of `pem`. InvalidArgument when it has none, or any of them cannot be
  // read.
  static StatusOr<Certificate> FromPem(std::string_view pem);
  // All certificates of `pem`; at least one. InvalidArgument when one cannot be read, or there are
  // more than 64.
  static StatusOr<std::vector<Certificate>> ChainFromPem(std::string_view pem);

  std::string Pem() const;
  // SHA-256 of the certificate (DER) as 64 lower-case hexadecimal digits.
  std::string Digest() const;
  // The serial number in hexadecimal digits.
  std::string Serial() const;
  Lifetime lifetime() const;
  bool IsAuthority() const;

  // The names that the certificate is valid for: DNS names, IP addresses as text, URIs.
  std::vector<std::string> DnsNames() const;
  std::vector<std::string> IpAddresses() const;
  std::vector<std::string> Uris() const;

  // FailedPrecondition when `now` is outside its lifetime; the message has the limits.
  Status CheckLifetime(WallTime now) const;
  // FailedPrecondition when `key` is another certificate's.
  Status CheckKey(const PrivateKey& key) const;
  // Whether the key of `authority` has signed this certificate.
  bool IsSignedBy(const Certificate& authority) const;

  X509* get() const { return certificate_.get(); }

 private:
  std::shared_ptr<X509> certificate_;
};

// "2026-11-23 12:00:05 UTC"
std::string TimeText(WallTime time);

}  // namespace gp::security
