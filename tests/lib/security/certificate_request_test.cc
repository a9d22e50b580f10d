#include "security/certificate_request.h"

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

namespace gp::security {
namespace {

std::string RequestPem(EVP_PKEY* key) {
  const RequestPointer request(X509_REQ_new());
  X509_REQ_set_pubkey(request.get(), key);
  EXPECT_GT(X509_REQ_sign(request.get(), key, EVP_sha256()), 0);
  const BioPointer bio = WritingBio();
  EXPECT_EQ(PEM_write_bio_X509_REQ(bio.get(), request.get()), 1);
  return TextOf(bio.get());
}

TEST(CertificateRequest, IsReadBack) {
  const CertificateRequest request = CertificateRequest::For(PrivateKey::Generate());
  const auto again = CertificateRequest::FromPem(request.Pem());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Pem(), request.Pem());
}

TEST(CertificateRequest, TheDigestIsTheKeys) {
  const PrivateKey key = PrivateKey::Generate();
  const std::string digest = CertificateRequest::For(key).KeyDigest();
  EXPECT_EQ(digest.size(), 64u);
  EXPECT_EQ(CertificateRequest::For(key).KeyDigest(), digest);
  EXPECT_NE(CertificateRequest::For(PrivateKey::Generate()).KeyDigest(), digest);
}

TEST(CertificateRequest, TextThatIsCutAnywhereIsNoRequest) {
  const std::string pem = CertificateRequest::For(PrivateKey::Generate()).Pem();
  for (size_t size = 0; size + 1 < pem.size(); ++size) {
    const auto read = CertificateRequest::FromPem(pem.substr(0, size));
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument) << "cut at " << size;
  }
}

TEST(CertificateRequest, ARequestForSomebodyElsesKeyIsRefused) {
  const PrivateKey mine = PrivateKey::Generate();
  const PrivateKey theirs = PrivateKey::Generate();
  const RequestPointer request(X509_REQ_new());
  X509_REQ_set_pubkey(request.get(), theirs.get());
  ASSERT_GT(X509_REQ_sign(request.get(), mine.get(), EVP_sha256()), 0);
  const BioPointer bio = WritingBio();
  ASSERT_EQ(PEM_write_bio_X509_REQ(bio.get(), request.get()), 1);
  const auto read = CertificateRequest::FromPem(TextOf(bio.get()));
  EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(Message(read.status()).find("not signed with its own key"), std::string::npos);
}

TEST(CertificateRequest, WeakKeysAreRefused) {
  const KeyPointer rsa(EVP_RSA_gen(1024));
  const KeyPointer curve(EVP_EC_gen("P-192"));
  for (EVP_PKEY* key : {rsa.get(), curve.get()}) {
    ASSERT_NE(key, nullptr);
    const auto read = CertificateRequest::FromPem(RequestPem(key));
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(Message(read.status()).find("too weak"), std::string::npos) << read.status();
  }
}

TEST(CertificateRequest, AMegabyteIsNotParsed) {
  const std::string pem = CertificateRequest::For(PrivateKey::Generate()).Pem();
  EXPECT_EQ(CertificateRequest::FromPem(pem + std::string(1 << 20, 'x')).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gp::security
