#include "rpc/token.h"

#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "base/random_id.h"

namespace gp::rpc {
namespace {

const std::string kDigest(64, 'c');

TEST(Token, ComesBackFromItsText) {
  for (const TokenKind kind : {TokenKind::kUser, TokenKind::kJoin}) {
    for (const std::string& digest : {std::string(), kDigest}) {
      const Token token = MakeToken(kind, digest);
      const auto parsed = ParseToken(TokenText(token));
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_EQ(*parsed, token);
    }
  }
}

TEST(Token, HasASecretOf256BitsThatNoOtherHas) {
  std::set<std::string> secrets;
  for (int i = 0; i < 1000; ++i) {
    const Token token = MakeToken(TokenKind::kUser, "");
    EXPECT_EQ(token.secret.size(), 64u);
    secrets.insert(token.secret);
  }
  EXPECT_EQ(secrets.size(), 1000u);
}

TEST(Token, IsReadWholeOrNotAtAll) {
  const std::string text = TokenText(MakeToken(TokenKind::kUser, kDigest));
  const size_t without_digest = text.size() - kDigest.size() - 1;
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_EQ(ParseToken(text.substr(0, length)).ok(), length == without_digest) << length;
  }
  EXPECT_FALSE(ParseToken(text + "0").ok());
  EXPECT_FALSE(ParseToken(text + "_").ok());
  EXPECT_FALSE(ParseToken(text + "\n").ok());
  EXPECT_FALSE(ParseToken(" " + text).ok());
}

TEST(Token, HasOneSpelling) {
  const std::string text = TokenText(MakeToken(TokenKind::kUser, kDigest));
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char other : {'_', 'G', ' ', '\0', '\x80', '-'}) {
      std::string changed = text;
      if (changed[i] == other) continue;
      changed[i] = other;
      EXPECT_FALSE(ParseToken(changed).ok()) << "character " << i;
    }
  }
}

TEST(Token, IsNeverRepeatedInAnError) {
  const std::string text = TokenText(MakeToken(TokenKind::kUser, kDigest)) + "x";
  const std::string message = gp::Message(ParseToken(text).status());
  EXPECT_EQ(message.find(text.substr(20, 20)), std::string::npos) << message;
}

class TokenFile : public ::testing::Test {
 protected:
  TokenFile() : path_(::testing::TempDir() + "gp-token-" + RandomId(10)) {}
  ~TokenFile() override { (void)RemoveTree(path_); }

  StatusOr<Token> Read(const std::string& content) {
    EXPECT_TRUE(WriteFileAtomically(path_, content, 0600).ok());
    return ReadTokenFile(path_);
  }

  const std::string path_;
};

TEST_F(TokenFile, IsOneLine) {
  const Token token = MakeToken(TokenKind::kJoin, kDigest);
  EXPECT_EQ(Read(TokenText(token)).value(), token);
  EXPECT_EQ(Read(TokenText(token) + "\n").value(), token);
  EXPECT_EQ(Read(TokenText(token) + "\r\n").value(), token);
  EXPECT_FALSE(Read(TokenText(token) + "\n" + TokenText(token) + "\n").ok());
  EXPECT_FALSE(Read("").ok());
}

TEST_F(TokenFile, IsNamedInErrorsAndItsContentIsNot) {
  const std::string secret(64, 'd');
  const auto read = Read("gp_user_short_" + secret);
  EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(gp::Message(read.status()).find(path_), std::string::npos);
  EXPECT_EQ(gp::Message(read.status()).find(secret), std::string::npos);
  EXPECT_FALSE(Read(std::string(1 << 20, 'g')).ok());
  EXPECT_EQ(ReadTokenFile(path_ + ".absent").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace gp::rpc
