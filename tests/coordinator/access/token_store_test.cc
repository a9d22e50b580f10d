#include "coordinator/access/token_store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <thread>

#include "coordinator/private_files.h"
#include "fakes/fake_clock.h"
#include "formats/sha256.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using rpc::TokenKind;

class TokenStoreTest : public ::testing::Test {
 protected:
  TokenStoreTest() : directory_(JoinPath(temporary_.path(), "security")) { Reopen(); }

  void Reopen() {
    store_.reset();
    auto opened = TokenStore::Open(directory_, clock_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }

  IssuedToken MakeUser(std::optional<std::chrono::hours> ttl = std::nullopt) {
    NewToken wanted{
        .name = "alice", .roles = {{"research", Role::kSubmitter}}, .created_by = "admin"};
    if (ttl) wanted.expires_at = clock_.WallNow() + *ttl;
    return store_->Create(wanted).value();
  }

  IssuedToken MakeJoin(int uses_max = 1) {
    return store_
        ->Create({.kind = TokenKind::kJoin,
                  .name = "node",
                  .expires_at = clock_.WallNow() + std::chrono::minutes(10),
                  .created_by = "admin",
                  .uses_max = uses_max})
        .value();
  }

  // The contents of all files of the store.
  std::string BytesOnDisk() {
    std::string bytes;
    const std::vector<std::string> names = ListDirectory(directory_).value();
    for (const std::string& name : names) {
      bytes += ReadFile(JoinPath(directory_, name)).value();
    }
    return bytes;
  }

  TemporaryDirectory temporary_;
  const std::string directory_;
  FakeClock clock_;
  std::unique_ptr<TokenStore> store_;
};

void ExpectUnauthenticated(const Status& status, const std::string& word) {
  EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << status;
  EXPECT_NE(gp::Message(status).find(word), std::string::npos) << status;
}

TEST_F(TokenStoreTest, KnowsItsTokensAlsoAfterAStart) {
  const IssuedToken issued = MakeUser();
  for (int start = 0; start < 2; ++start) {
    const auto record = store_->Authenticate(issued.token);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ((*record)->name, "alice");
    EXPECT_EQ((*record)->roles.In("research"), Role::kSubmitter);
    EXPECT_EQ((*record)->roles.In("default"), std::nullopt);
    Reopen();
  }
}

TEST_F(TokenStoreTest, KeepsNoSecretAndLetsNobodyElseRead) {
  const IssuedToken issued = MakeUser();
  EXPECT_EQ(BytesOnDisk().find(issued.token.secret), std::string::npos);
  ExpectPrivate(directory_);
}

TEST_F(TokenStoreTest, RefusesAWrongSecretAsItRefusesAnUnknownId) {
  rpc::Token wrong = MakeUser().token;
  wrong.secret.back() = wrong.secret.back() == '0' ? '1' : '0';
  const Status with_wrong_secret = store_->Authenticate(wrong).status();
  ExpectUnauthenticated(with_wrong_secret, "unknown token");
  EXPECT_EQ(with_wrong_secret, store_->Authenticate(rpc::MakeToken(TokenKind::kUser, "")).status());
}

TEST_F(TokenStoreTest, RefusesARevokedToken) {
  const IssuedToken issued = MakeUser();
  ASSERT_TRUE(store_->Revoke(issued.record.id).ok());
  ASSERT_TRUE(store_->Revoke(issued.record.id).ok());
  for (int start = 0; start < 2; ++start) {
    ExpectUnauthenticated(store_->Authenticate(issued.token).status(), "revoked");
    ExpectUnauthenticated(store_->Check(issued.record.id), "revoked");
    Reopen();
  }
  EXPECT_EQ(store_->Revoke("0000000000").status().code(), StatusCode::kNotFound);
}

TEST_F(TokenStoreTest, RefusesAnExpiredToken) {
  const IssuedToken issued = MakeUser(std::chrono::hours(1));
  clock_.Advance(std::chrono::minutes(59));
  EXPECT_TRUE(store_->Authenticate(issued.token).ok());
  clock_.Advance(std::chrono::minutes(1));
  ExpectUnauthenticated(store_->Authenticate(issued.token).status(), "expired");
  ExpectUnauthenticated(store_->Check(issued.record.id), "expired");
}

TEST_F(TokenStoreTest, TellsTheTimeOfLastUseAlsoAfterAStart) {
  const IssuedToken issued = MakeUser();
  EXPECT_EQ(store_->Find(issued.record.id)->last_used_at, std::nullopt);
  clock_.Advance(std::chrono::hours(2));
  ASSERT_TRUE(store_->Authenticate(issued.token).ok());
  const WallTime used = clock_.WallNow();
  clock_.Advance(std::chrono::hours(2));
  EXPECT_EQ(store_->Find(issued.record.id)->last_used_at, used);
  Reopen();
  EXPECT_EQ(store_->Find(issued.record.id)->last_used_at, used);
}

TEST_F(TokenStoreTest, AJoinTokenIsUsedUpByTheFirstMachine) {
  const IssuedToken issued = MakeJoin();
  EXPECT_TRUE(store_->Redeem(issued.token, "key-a").ok());
  for (int start = 0; start < 2; ++start) {
    ExpectUnauthenticated(store_->Redeem(issued.token, "key-b").status(), "is used up");
    // The same machine may redeem it again, because the first answer may have been lost.
    EXPECT_TRUE(store_->Redeem(issued.token, "key-a").ok());
    Reopen();
  }
  clock_.Advance(std::chrono::minutes(10));
  ExpectUnauthenticated(store_->Redeem(issued.token, "key-a").status(), "expired");
}

TEST_F(TokenStoreTest, AJoinTokenOfThreeUsesLetsThreeMachinesIn) {
  const IssuedToken issued = MakeJoin(3);
  for (const std::string machine : {"a", "b", "a", "c", "a"}) {
    EXPECT_TRUE(store_->Redeem(issued.token, machine).ok());
    Reopen();
  }
  ExpectUnauthenticated(store_->Redeem(issued.token, "d").status(), "admits 3 machines");
  EXPECT_TRUE(store_->Redeem(issued.token, "b").ok()) << "an answer may get lost";
  const TokenRecord record = store_->Find(issued.record.id).value();
  EXPECT_EQ(record.uses_max, 3);
  EXPECT_EQ(record.uses, 3);
  EXPECT_EQ(record.redeemed_by, "c");
  ASSERT_TRUE(store_->Revoke(issued.record.id).ok());
  ExpectUnauthenticated(store_->Redeem(issued.token, "a").status(), "revoked");
}

TEST_F(TokenStoreTest, ReadsAFileOfBeforeJoinTokensHadANumberOfUses) {
  store_.reset();
  const std::string path = JoinPath(directory_, "tokens.db");
  const rpc::Token used = rpc::MakeToken(TokenKind::kJoin, "");
  const rpc::Token fresh = rpc::MakeToken(TokenKind::kJoin, "");
  ASSERT_TRUE(RemoveTree(path).ok());
  {
    auto database =
        SqliteConnection::Open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE).value();
    ASSERT_TRUE(database
                    .Execute("CREATE TABLE tokens(id TEXT PRIMARY KEY, kind TEXT, name TEXT, roles "
                             "TEXT, digest TEXT, created_by TEXT, created_at_us INTEGER, "
                             "expires_at_us INTEGER, last_used_at_us INTEGER, revoked_at_us "
                             "INTEGER, redeemed_by TEXT NOT NULL) WITHOUT ROWID; "
                             "PRAGMA user_version = 1")
                    .ok());
    const int64_t later = (clock_.WallNow() + std::chrono::minutes(10)).time_since_epoch().count();
    for (const auto& [token, redeemer] : {std::pair(used, "key-a"), std::pair(fresh, "")}) {
      const Status inserted = database.Execute(fmt::format(
          "INSERT INTO tokens VALUES ('{}', 'join', 'node', '', '{}', 'admin', 1, {}, 0, 0, '{}')",
          token.id, formats::Sha256Hex(token.secret), later, redeemer));
      ASSERT_TRUE(inserted.ok()) << inserted;
    }
  }
  Reopen();
  EXPECT_TRUE(store_->Redeem(used, "key-a").ok());
  ExpectUnauthenticated(store_->Redeem(used, "key-b").status(), "is used up");
  EXPECT_TRUE(store_->Redeem(fresh, "key-b").ok());
  ExpectUnauthenticated(store_->Redeem(fresh, "key-c").status(), "is used up");
}

TEST_F(TokenStoreTest, OfManyMachinesAtOnceAsManyGetInAsTheJoinTokenHasUses) {
  for (const int uses : {1, 1, 1, 3, 5}) {
    const IssuedToken issued = MakeJoin(uses);
    std::atomic<int> redeemed{0};
    {
      std::vector<std::jthread> machines;
      for (int machine = 0; machine < 8; ++machine) {
        machines.emplace_back([&, machine] {
          if (store_->Redeem(issued.token, "key-" + std::to_string(machine)).ok()) ++redeemed;
        });
      }
    }
    EXPECT_EQ(redeemed, uses);
  }
}

TEST_F(TokenStoreTest, OneKindOfTokenIsNotTakenForTheOther) {
  const IssuedToken join = MakeJoin();
  const IssuedToken user = MakeUser();
  ExpectUnauthenticated(store_->Authenticate(join.token).status(), "join token");
  ExpectUnauthenticated(store_->Redeem(user.token, "key").status(), "user's token");
  rpc::Token disguised = join.token;
  disguised.kind = TokenKind::kUser;
  EXPECT_FALSE(store_->Authenticate(disguised).ok());
  disguised = user.token;
  disguised.kind = TokenKind::kJoin;
  EXPECT_FALSE(store_->Redeem(disguised, "key").ok());
}

TEST_F(TokenStoreTest, MakesNoTokenWithoutWhatItNeeds) {
  const auto refuses = [this](const NewToken& wanted) {
    return store_->Create(wanted).status().code() == StatusCode::kInvalidArgument;
  };
  const Roles viewer{{"*", Role::kViewer}};
  const WallTime later = clock_.WallNow() + std::chrono::hours(1);
  EXPECT_TRUE(refuses({.name = "", .roles = viewer}));
  EXPECT_TRUE(refuses({.name = "a\x1b[2J", .roles = viewer}));
  EXPECT_TRUE(refuses({.name = std::string(65, 'a'), .roles = viewer}));
  EXPECT_TRUE(refuses({.name = "a"}));
  EXPECT_TRUE(refuses({.name = "a", .roles = {{"Research", Role::kViewer}}}));
  EXPECT_TRUE(refuses({.name = "a", .roles = viewer, .expires_at = clock_.WallNow()}));
  EXPECT_TRUE(refuses({.kind = TokenKind::kJoin, .name = "a"}));
  EXPECT_TRUE(
      refuses({.kind = TokenKind::kJoin, .name = "a", .roles = viewer, .expires_at = later}));
  for (const int uses : {-1, 0, 1001}) {
    EXPECT_TRUE(
        refuses({.kind = TokenKind::kJoin, .name = "a", .expires_at = later, .uses_max = uses}));
  }
  EXPECT_TRUE(refuses({.name = "a", .roles = viewer, .uses_max = 2}));
}

TEST_F(TokenStoreTest, ForgetsWhatEndedAMonthAgo) {
  const IssuedToken expires = MakeUser(std::chrono::hours(1));
  const IssuedToken revoked = MakeUser();
  const IssuedToken stays = MakeUser();
  ASSERT_TRUE(store_->Revoke(revoked.record.id).ok());
  clock_.Advance(std::chrono::hours(24 * 29));
  Reopen();
  EXPECT_EQ(store_->List().size(), 3u);
  clock_.Advance(std::chrono::hours(24 * 2));
  Reopen();
  ASSERT_EQ(store_->List().size(), 1u);
  EXPECT_EQ(store_->List()[0].id, stays.record.id);
}

TEST_F(TokenStoreTest, SaysThatItsFileIsDamaged) {
  MakeUser();
  store_.reset();
  const std::string path = JoinPath(directory_, "tokens.db");
  ASSERT_TRUE(WriteFileAtomically(path, std::string(8192, 'x'), 0600).ok());
  const auto opened = TokenStore::Open(directory_, clock_);
  EXPECT_FALSE(opened.ok());
  EXPECT_NE(gp::Message(opened.status()).find(path), std::string::npos);
}

}  // namespace
}  // namespace gp::coordinator
