#include "security/certificate.h"

#include <gtest/gtest.h>

#include "lib/security/noon.h"
#include "security/authority.h"

namespace gp::security {
namespace {

Certificate ServerCertificate(const PrivateKey& key) {
  return *Authority::Create(kNoon).IssueServer(key, {"127.0.0.1", "node-1", "::1"}, kNoon, kDay);
}

TEST(Certificate, TellsTheNamesItIsGoodFor) {
  const Certificate certificate = ServerCertificate(PrivateKey::Generate());
  EXPECT_EQ(certificate.DnsNames(), std::vector<std::string>{"node-1"});
  EXPECT_EQ(certificate.IpAddresses(), (std::vector<std::string>{"127.0.0.1", "::1"}));
  EXPECT_TRUE(certificate.Uris().empty());
  EXPECT_FALSE(certificate.IsAuthority());
}

TEST(Certificate, ItsTextIsReadBackWithTheSameDigest) {
  const Certificate certificate = ServerCertificate(PrivateKey::Generate());
  const auto again = Certificate::FromPem(certificate.Pem());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Digest(), certificate.Digest());
  EXPECT_EQ(again->Digest().size(), 64u);
  EXPECT_EQ(again->Serial(), certificate.Serial());
}

TEST(Certificate, TextThatIsCutAnywhereIsNoCertificate) {
  const std::string pem = ServerCertificate(PrivateKey::Generate()).Pem();
  for (size_t size = 0; size + 1 < pem.size(); ++size) {
    const auto read = Certificate::FromPem(pem.substr(0, size));
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument) << "cut at " << size;
  }
}

TEST(Certificate, AChainWithADamagedCertificateIsRefusedAsAWhole) {
  const std::string good = ServerCertificate(PrivateKey::Generate()).Pem();
  EXPECT_EQ(Certificate::ChainFromPem(good + good)->size(), 2u);
  EXPECT_FALSE(Certificate::ChainFromPem(good + good.substr(0, good.size() / 2)).ok());
  EXPECT_FALSE(Certificate::ChainFromPem("").ok());
}

TEST(Certificate, AChainOfThousandsIsNotRead) {
  const std::string one = ServerCertificate(PrivateKey::Generate()).Pem();
  std::string many;
  for (int i = 0; i < 1000; ++i) many += one;
  EXPECT_EQ(Certificate::ChainFromPem(many).status().code(), StatusCode::kInvalidArgument);
}

TEST(Certificate, IsGoodFromShortlyBeforeItWasMadeUntilItsEnd) {
  const Certificate certificate = ServerCertificate(PrivateKey::Generate());
  EXPECT_TRUE(certificate.CheckLifetime(kNoon).ok());
  EXPECT_TRUE(certificate.CheckLifetime(kNoon - std::chrono::minutes(4)).ok());
  EXPECT_TRUE(certificate.CheckLifetime(kNoon + kDay).ok());
  const Status early = certificate.CheckLifetime(kNoon - std::chrono::hours(1));
  EXPECT_EQ(early.code(), StatusCode::kFailedPrecondition);
  const Status late = certificate.CheckLifetime(kNoon + kDay + std::chrono::seconds(1));
  EXPECT_EQ(late.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(late).find(TimeText(kNoon + kDay)), std::string::npos) << late;
}

TEST(Certificate, IsRenewedWhenTwoThirdsOfItsLifeHavePassed) {
  const Certificate certificate = ServerCertificate(PrivateKey::Generate());
  EXPECT_EQ(certificate.lifetime().RenewalTime(), kNoon + std::chrono::hours(16));
}

TEST(Certificate, KnowsItsOwnKey) {
  const PrivateKey key = PrivateKey::Generate();
  const Certificate certificate = ServerCertificate(key);
  EXPECT_TRUE(certificate.CheckKey(key).ok());
  EXPECT_EQ(certificate.CheckKey(PrivateKey::Generate()).code(), StatusCode::kFailedPrecondition);
}

TEST(Certificate, KnowsWhoSignedIt) {
  const Authority authority = Authority::Create(kNoon);
  const Certificate certificate =
      *authority.IssueServer(PrivateKey::Generate(), {"localhost"}, kNoon, kDay);
  EXPECT_TRUE(certificate.IsSignedBy(authority.certificate()));
  EXPECT_FALSE(certificate.IsSignedBy(Authority::Create(kNoon).certificate()));
}

}  // namespace
}  // namespace gp::security
