#include "formats/sha256.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace gp::formats {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  GP_CHECK(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(std::string_view data) {
  GP_CHECK(EVP_DigestUpdate(context_->evp, data.data(), data.size()) == 1);
}

std::string Sha256::Finish() {
  unsigned char digest[32];
  unsigned int length = 0;
  GP_CHECK(EVP_DigestFinal_ex(context_->evp, digest, &length) == 1 && length == sizeof digest);
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

std::string Sha256Hex(std::string_view data) {
  Sha256 sha;
  sha.Update(data);
  return sha.Finish();
}

}  // namespace gp::formats
