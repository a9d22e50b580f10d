#include "coordinator/access/node_registry.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "fakes/fake_clock.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

constexpr std::chrono::hours kHour{1};

class NodeRegistryTest : public ::testing::Test {
 protected:
  NodeRegistryTest() { Reopen(); }

  void Reopen() {
    registry_.reset();
    auto opened = NodeRegistry::Open(directory_.path(), clock_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    registry_ = *std::move(opened);
  }

  // The expected validity of a certificate that is issued now.
  security::Lifetime Made() const {
    return {clock_.WallNow() - security::kClockSkew, clock_.WallNow() + kHour};
  }
  StatusCode Checked(const security::Lifetime& lifetime) const {
    return registry_->Check("n1", lifetime).code();
  }

  TemporaryDirectory directory_;
  FakeClock clock_;
  std::unique_ptr<NodeRegistry> registry_;
};

TEST_F(NodeRegistryTest, AGoodCertificateCountsUntilItsEnd) {
  const security::Lifetime lifetime = Made();
  EXPECT_EQ(Checked(lifetime), StatusCode::kOk);
  clock_.Advance(kHour);
  EXPECT_EQ(Checked(lifetime), StatusCode::kOk);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Checked(lifetime), StatusCode::kUnauthenticated);
}

TEST_F(NodeRegistryTest, NoCertificateFromBeforeTheRevocationCounts) {
  const security::Lifetime before = Made();
  ASSERT_TRUE(registry_->Revoke("n1").ok());
  EXPECT_EQ(Checked(before), StatusCode::kPermissionDenied);
  EXPECT_EQ(Checked(Made()), StatusCode::kPermissionDenied) << "of the same second";
  EXPECT_TRUE(registry_->Check("n2", before).ok()) << "another node's counts";
  Reopen();
  EXPECT_EQ(Checked(before), StatusCode::kPermissionDenied) << "after a restart";
}

TEST_F(NodeRegistryTest, ACertificateFromAfterTheRevocationCounts) {
  ASSERT_TRUE(registry_->Revoke("n1").ok());
  const WallTime from = registry_->IssueTime("n1");
  EXPECT_GT(from, clock_.WallNow());
  EXPECT_EQ(Checked({from - security::kClockSkew, from + kHour}), StatusCode::kOk);
}

TEST_F(NodeRegistryTest, ANodeWithAGoodCertificateIsNotReplacedByAnotherMachine) {
  ASSERT_TRUE(registry_->Record("n1", "key", clock_.WallNow() + kHour).ok());
  Reopen();
  EXPECT_TRUE(registry_->Knows("n1"));
  EXPECT_FALSE(registry_->Knows("n2"));
  EXPECT_TRUE(registry_->CheckJoin("n1", "key", clock_.WallNow()).ok())
      << "the same machine, again";
  const Status other = registry_->CheckJoin("n1", "other", clock_.WallNow());
  EXPECT_EQ(other.code(), StatusCode::kAlreadyExists);
  EXPECT_NE(Message(other).find("gpctl workers revoke n1"), std::string::npos) << other;
  EXPECT_TRUE(registry_->CheckJoin("n2", "other", clock_.WallNow()).ok());
  clock_.Advance(2 * kHour);
  EXPECT_TRUE(registry_->CheckJoin("n1", "other", clock_.WallNow()).ok())
      << "its certificate has ended";
}

TEST_F(NodeRegistryTest, ARevokedNodeMayJoinWithAnotherKey) {
  ASSERT_TRUE(registry_->Record("n1", "key", clock_.WallNow() + kHour).ok());
  ASSERT_TRUE(registry_->Revoke("n1").ok());
  EXPECT_TRUE(registry_->CheckJoin("n1", "other", clock_.WallNow()).ok());
}

TEST_F(NodeRegistryTest, ATokenFromBeforeTheRevocationDoesNotUndoIt) {
  const WallTime before = clock_.WallNow();
  clock_.Advance(kHour);
  ASSERT_TRUE(registry_->Revoke("n1").ok());
  Reopen();
  for (const std::string key : {"key", "other"}) {
    const Status refused = registry_->CheckJoin("n1", key, before);
    EXPECT_EQ(refused.code(), StatusCode::kPermissionDenied);
    EXPECT_NE(Message(refused).find("gpctl token create --join"), std::string::npos) << refused;
  }
  EXPECT_TRUE(registry_->CheckJoin("n2", "key", before).ok());
}

TEST_F(NodeRegistryTest, OnlyItsOwnerReadsTheFile) {
  const auto names = ListDirectory(directory_.path());
  ASSERT_TRUE(names.ok() && !names->empty()) << names.status();
  for (const std::string& name : *names) {
    struct stat status {};
    ASSERT_EQ(stat(directory_.File(name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << name;
  }
}

TEST_F(NodeRegistryTest, ADamagedFileIsNamed) {
  registry_.reset();
  ASSERT_TRUE(WriteFileAtomically(directory_.File("nodes.db"), std::string(4096, 'x')).ok());
  const auto opened = NodeRegistry::Open(directory_.path(), clock_);
  EXPECT_FALSE(opened.ok());
  EXPECT_NE(Message(opened.status()).find("nodes.db"), std::string::npos) << opened.status();
}

}  // namespace
}  // namespace gp::coordinator
