#include "security/private_key.h"

#include <openssl/ec.h>
#include <openssl/pem.h>

#include "base/check.h"

namespace gp::security {
namespace {

// Refuses encrypted keys: a daemon cannot ask anyone for the passphrase.
int NoPassphrase(char*, int, int, void*) { return -1; }

}  // namespace

PrivateKey PrivateKey::Generate() {
  KeyPointer key(EVP_EC_gen("P-256"));
  GP_CHECK(key != nullptr);
  return PrivateKey(std::move(key));
}

StatusOr<PrivateKey> PrivateKey::FromPem(std::string_view pem) {
  const BioPointer bio = ReadingBio(pem);
  KeyPointer key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  if (key != nullptr) return PrivateKey(std::move(key));
  return InvalidArgument("not a private key in PEM without a passphrase: {}", TakeOpensslError());
}

std::string PrivateKey::Pem() const {
  const BioPointer bio = WritingBio();
  GP_CHECK(PEM_write_bio_PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) ==
           1);
  return TextOf(bio.get());
}

}  // namespace gp::security
