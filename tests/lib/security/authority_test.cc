#include "security/authority.h"

#include <gtest/gtest.h>

#include "lib/security/noon.h"
#include "security/node_name.h"

namespace gp::security {
namespace {

TEST(Authority, IsReadBackFromItsText) {
  const Authority authority = Authority::Create(kNoon);
  const auto again = Authority::Read(authority.certificate().Pem(), authority.KeyPem());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->certificate().IsAuthority());
  EXPECT_EQ(again->certificate().Digest(), authority.certificate().Digest());
}

TEST(Authority, AnotherKeyIsRefused) {
  const Authority authority = Authority::Create(kNoon);
  const auto read = Authority::Read(authority.certificate().Pem(), PrivateKey::Generate().Pem());
  EXPECT_EQ(read.status().code(), StatusCode::kFailedPrecondition) << read.status();
}

TEST(Authority, ACertificateThatMayNotSignIsNoAuthority) {
  const PrivateKey key = PrivateKey::Generate();
  const Certificate leaf = *Authority::Create(kNoon).IssueServer(key, {"localhost"}, kNoon, kDay);
  const auto read = Authority::Read(leaf.Pem(), key.Pem());
  EXPECT_EQ(read.status().code(), StatusCode::kFailedPrecondition) << read.status();
}

TEST(Authority, GivesANodeACertificateWithItsNameAlone) {
  const Authority authority = Authority::Create(kNoon);
  const PrivateKey key = PrivateKey::Generate();
  const auto certificate =
      authority.IssueClient(CertificateRequest::For(key), NodeUri("abc123"), kNoon, kDay);
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  EXPECT_EQ(NodeOf(*certificate), "abc123");
  EXPECT_EQ(certificate->DnsNames(), std::vector<std::string>{kNodeHost});
  EXPECT_TRUE(certificate->IpAddresses().empty());
  EXPECT_TRUE(certificate->CheckKey(key).ok());
  EXPECT_TRUE(certificate->IsSignedBy(authority.certificate()));
  EXPECT_FALSE(certificate->IsAuthority());
}

TEST(Authority, NoNameCarriesAnotherInIt) {
  const Authority authority = Authority::Create(kNoon);
  const PrivateKey key = PrivateKey::Generate();
  for (const std::string host : {"a,DNS:evil", "a b", "", "DNS:x\n", "a/b"}) {
    EXPECT_EQ(authority.IssueServer(key, {host}, kNoon, kDay).status().code(),
              StatusCode::kInvalidArgument)
        << host;
  }
  const auto request = CertificateRequest::For(key);
  EXPECT_FALSE(authority.IssueClient(request, "gp:node:a,URI:gp:node:b", kNoon, kDay).ok());
  EXPECT_FALSE(authority.IssueServer(key, {}, kNoon, kDay).ok());
}

TEST(Authority, NothingThatItSignsOutlivesIt) {
  const Authority authority = Authority::Create(kNoon);
  const WallTime late = authority.certificate().lifetime().end - kDay;
  const auto certificate =
      authority.IssueServer(PrivateKey::Generate(), {"localhost"}, late, 30 * kDay);
  ASSERT_TRUE(certificate.ok());
  EXPECT_EQ(certificate->lifetime().end, authority.certificate().lifetime().end);
}

TEST(Authority, SerialNumbersDiffer) {
  const Authority authority = Authority::Create(kNoon);
  const PrivateKey key = PrivateKey::Generate();
  EXPECT_NE(authority.IssueServer(key, {"localhost"}, kNoon, kDay)->Serial(),
            authority.IssueServer(key, {"localhost"}, kNoon, kDay)->Serial());
}

}  // namespace
}  // namespace gp::security
