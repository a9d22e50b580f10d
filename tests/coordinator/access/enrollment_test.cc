#include "coordinator/access/enrollment.h"

#include <gtest/gtest.h>

#include <optional>

#include "fakes/fake_clock.h"
#include "lib/base/temporary_directory.h"
#include "security/node_name.h"

namespace gp::coordinator {
namespace {

using security::Certificate;
using security::CertificateRequest;
using security::PrivateKey;

constexpr std::chrono::hours kLifetime{24};

class EnrollmentTest : public ::testing::Test {
 protected:
  EnrollmentTest() {
    const std::string security = JoinPath(directory_.path(), "security");
    certificates_ =
        ServerCertificates::Open(
            {.directory = security, .hosts = {"localhost"}, .lifetime = kLifetime}, clock_)
            .value();
    tokens_ = TokenStore::Open(security, clock_).value();
    nodes_ = NodeRegistry::Open(security, clock_).value();
    enrollment_.emplace(*certificates_, *tokens_, *nodes_);
  }

  std::string Token(rpc::TokenKind kind = rpc::TokenKind::kJoin) {
    NewToken wanted{.kind = kind,
                    .name = "node",
                    .expires_at = clock_.WallNow() + std::chrono::minutes(10),
                    .created_by = "admin"};
    if (kind == rpc::TokenKind::kUser) wanted.roles = Roles::AdminEverywhere();
    return rpc::TokenText(tokens_->Create(wanted)->token);
  }

  static std::string Request(const PrivateKey& key = PrivateKey::Generate()) {
    return CertificateRequest::For(key).Pem();
  }

  static security::Lifetime LifetimeOf(const std::string& pem) {
    return Certificate::FromPem(pem)->lifetime();
  }

  TemporaryDirectory directory_;
  FakeClock clock_;
  std::unique_ptr<ServerCertificates> certificates_;
  std::unique_ptr<TokenStore> tokens_;
  std::unique_ptr<NodeRegistry> nodes_;
  std::optional<Enrollment> enrollment_;
};

TEST_F(EnrollmentTest, AJoinTokenGivesACertificateForTheNodesKey) {
  const PrivateKey key = PrivateKey::Generate();
  const auto pem = enrollment_->Join(Token(), "n1", Request(key));
  ASSERT_TRUE(pem.ok()) << pem.status();
  const auto certificate = Certificate::FromPem(*pem);
  ASSERT_TRUE(certificate.ok()) << certificate.status();
  EXPECT_EQ(security::NodeOf(*certificate), "n1");
  EXPECT_TRUE(certificate->CheckKey(key).ok());
  EXPECT_TRUE(certificate->IsSignedBy(certificates_->authority()));
  EXPECT_TRUE(nodes_->Check("n1", certificate->lifetime()).ok());
}

TEST_F(EnrollmentTest, AJoinTokenIsGoodForOneKey) {
  const std::string token = Token();
  const PrivateKey key = PrivateKey::Generate();
  ASSERT_TRUE(enrollment_->Join(token, "n1", Request(key)).ok());
  EXPECT_TRUE(enrollment_->Join(token, "n1", Request(key)).ok()) << "its answer was lost";
  EXPECT_EQ(enrollment_->Join(token, "n1", Request()).status().code(),
            StatusCode::kUnauthenticated);
  EXPECT_EQ(enrollment_->Join(token, "n2", Request(key)).status().code(),
            StatusCode::kUnauthenticated);
}

TEST_F(EnrollmentTest, OtherTokensDoNotCount) {
  EXPECT_EQ(enrollment_->Join(Token(rpc::TokenKind::kUser), "n1", Request()).status().code(),
            StatusCode::kUnauthenticated);
  const std::string unknown = rpc::TokenText(rpc::MakeToken(rpc::TokenKind::kJoin, ""));
  EXPECT_EQ(enrollment_->Join(unknown, "n1", Request()).status().code(),
            StatusCode::kUnauthenticated);
  EXPECT_FALSE(enrollment_->Join("", "n1", Request()).ok());
  const std::string late = Token();
  clock_.Advance(std::chrono::minutes(11));
  EXPECT_EQ(enrollment_->Join(late, "n1", Request()).status().code(), StatusCode::kUnauthenticated);
}

TEST_F(EnrollmentTest, AnotherMachineDoesNotBecomeANodeThatIsThere) {
  ASSERT_TRUE(enrollment_->Join(Token(), "n1", Request()).ok());
  EXPECT_EQ(enrollment_->Join(Token(), "n1", Request()).status().code(),
            StatusCode::kAlreadyExists);
  ASSERT_TRUE(enrollment_->Revoke("n1").ok());
  EXPECT_TRUE(enrollment_->Join(Token(), "n1", Request()).ok());
}

TEST_F(EnrollmentTest, BadRequestsDoNotUseATokenUp) {
  const std::string token = Token();
  for (const std::string id : {"", "a,URI:gp:node:b", "../n1"}) {
    EXPECT_EQ(enrollment_->Join(token, id, Request()).status().code(),
              StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(enrollment_->Join(token, "n1", "no request").status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(enrollment_->Join(token, "n1", Request()).ok());
}

TEST_F(EnrollmentTest, ANodeRenewsUntilItIsRevokedOrItsCertificateHasEnded) {
  const auto first = enrollment_->Join(Token(), "n1", Request());
  ASSERT_TRUE(first.ok());
  clock_.Advance(kLifetime / 2);
  const auto second = enrollment_->Renew("n1", LifetimeOf(*first), Request());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_GT(LifetimeOf(*second).end, LifetimeOf(*first).end);
  clock_.Advance(kLifetime * 2 / 3);
  EXPECT_EQ(enrollment_->Renew("n1", LifetimeOf(*first), Request()).status().code(),
            StatusCode::kUnauthenticated);
  ASSERT_TRUE(enrollment_->Revoke("n1").ok());
  EXPECT_EQ(enrollment_->Renew("n1", LifetimeOf(*second), Request()).status().code(),
            StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace gp::coordinator
