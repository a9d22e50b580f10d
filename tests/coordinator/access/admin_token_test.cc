#include "coordinator/access/admin_token.h"

#include <gtest/gtest.h>

#include "coordinator/private_files.h"
#include "fakes/fake_clock.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

class AdminTokenTest : public ::testing::Test {
 protected:
  AdminTokenTest()
      : directory_(JoinPath(temporary_.path(), "security")),
        path_(JoinPath(directory_, "admin.token")),
        store_(TokenStore::Open(directory_, clock_).value()) {}

  rpc::Token InFile() { return rpc::ReadTokenFile(path_).value(); }

  TemporaryDirectory temporary_;
  const std::string directory_;
  const std::string path_;
  FakeClock clock_;
  const std::unique_ptr<TokenStore> store_;
};

TEST_F(AdminTokenTest, IsMadeOnceAndReadByNobodyElse) {
  EXPECT_EQ(EnsureAdminToken(*store_, directory_).value(), path_);
  const rpc::Token token = InFile();
  EXPECT_EQ((*store_->Authenticate(token))->roles, Roles::AdminEverywhere());
  ExpectPrivate(directory_);
  EXPECT_EQ(EnsureAdminToken(*store_, directory_).value(), "");
  EXPECT_EQ(InFile(), token);
}

TEST_F(AdminTokenTest, IsReplacedWhenTheFileIsGone) {
  ASSERT_TRUE(EnsureAdminToken(*store_, directory_).ok());
  const rpc::Token lost = InFile();
  ASSERT_TRUE(RemoveTree(path_).ok());
  EXPECT_EQ(EnsureAdminToken(*store_, directory_).value(), path_);
  EXPECT_TRUE(store_->Authenticate(InFile()).ok());
  EXPECT_EQ(store_->Authenticate(lost).status().code(), StatusCode::kUnauthenticated);
}

TEST_F(AdminTokenTest, IsReplacedWhenTheStoreDoesNotKnowIt) {
  ASSERT_TRUE(WriteFileAtomically(
                  path_, rpc::TokenText(rpc::MakeToken(rpc::TokenKind::kUser, "")) + "\n", 0600)
                  .ok());
  EXPECT_EQ(EnsureAdminToken(*store_, directory_).value(), path_);
  EXPECT_TRUE(store_->Authenticate(InFile()).ok());
}

TEST_F(AdminTokenTest, StaysRevoked) {
  ASSERT_TRUE(EnsureAdminToken(*store_, directory_).ok());
  ASSERT_TRUE(store_->Revoke(InFile().id).ok());
  EXPECT_EQ(EnsureAdminToken(*store_, directory_).value(), "");
  EXPECT_FALSE(store_->Authenticate(InFile()).ok());
}

TEST_F(AdminTokenTest, FollowsTheCa) {
  ASSERT_TRUE(EnsureAdminToken(*store_, directory_).ok());
  const std::string secret = InFile().secret;
  store_->SetCaDigest(std::string(64, 'a'));
  EXPECT_EQ(EnsureAdminToken(*store_, directory_).value(), path_);
  EXPECT_EQ(InFile().secret, secret);
  EXPECT_EQ(InFile().ca_digest, std::string(64, 'a'));
}

}  // namespace
}  // namespace gp::coordinator
