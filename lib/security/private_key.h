// PrivateKey: a private key of elliptic curve P-256, or any other kind that OpenSSL reads. A value
// that can be moved; its text is a secret. May be used from any thread, but by only one thread at a
// time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "security/openssl.h"

namespace gp::security {

class PrivateKey {
 public:
  static PrivateKey Generate();
  // InvalidArgument when `pem` holds no unencrypted private key.
  static StatusOr<PrivateKey> FromPem(std::string_view pem);

  std::string Pem() const;

  EVP_PKEY* get() const { return key_.get(); }

 private:
  explicit PrivateKey(KeyPointer key) : key_(std::move(key)) {}

  KeyPointer key_;
};

}  // namespace gp::security
