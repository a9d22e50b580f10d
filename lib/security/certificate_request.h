// CertificateRequest: a CSR (PKCS #10): a public key to be certified, signed with its private key.
// Names in it are ignored: the authority decides the certificate's contents. Values; may be read
// from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "security/openssl.h"
#include "security/private_key.h"

namespace gp::security {

class CertificateRequest {
 public:
  static CertificateRequest For(const PrivateKey& key);
  // InvalidArgument when `pem` cannot be read or has more than 16 KiB, when its signature is wrong,
  // or when its key is none of these: an elliptic curve of at least 256 bits (P-256), Ed25519, RSA
  // of 2048 to 8192 bits.
  static StatusOr<CertificateRequest> FromPem(std::string_view pem);

  std::string Pem() const;
  // SHA-256 of the public key (DER) as 64 lower-case hexadecimal digits.
  std::string KeyDigest() const;

  X509_REQ* get() const { return request_.get(); }

 private:
  explicit CertificateRequest(RequestPointer request) : request_(std::move(request)) {}

  std::shared_ptr<X509_REQ> request_;
};

}  // namespace gp::security
