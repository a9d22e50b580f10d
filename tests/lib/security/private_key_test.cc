#include "security/private_key.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>

namespace gp::security {
namespace {

TEST(PrivateKey, ItsTextIsReadBack) {
  const PrivateKey key = PrivateKey::Generate();
  const auto again = PrivateKey::FromPem(key.Pem());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Pem(), key.Pem());
}

TEST(PrivateKey, NoTwoAreEqual) {
  EXPECT_NE(PrivateKey::Generate().Pem(), PrivateKey::Generate().Pem());
}

TEST(PrivateKey, TextThatIsCutAnywhereIsNoKey) {
  const std::string pem = PrivateKey::Generate().Pem();
  for (size_t size = 0; size + 1 < pem.size(); ++size) {
    const auto key = PrivateKey::FromPem(pem.substr(0, size));
    EXPECT_EQ(key.status().code(), StatusCode::kInvalidArgument) << "cut at " << size;
  }
}

TEST(PrivateKey, AKeyWithAPassphraseIsRefusedWithoutAsking) {
  const BioPointer bio = WritingBio();
  const PrivateKey key = PrivateKey::Generate();
  unsigned char passphrase[] = "secret";
  ASSERT_EQ(PEM_write_bio_PrivateKey(bio.get(), key.get(), EVP_aes_128_cbc(), passphrase, 6,
                                     nullptr, nullptr),
            1);
  const auto read = PrivateKey::FromPem(TextOf(bio.get()));
  EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument) << read.status();
}

}  // namespace
}  // namespace gp::security
