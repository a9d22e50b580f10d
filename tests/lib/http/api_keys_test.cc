#include "http/api_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/sha256.h"
#include "lib/base/temporary_directory.h"

namespace gp::http {
namespace {

using ::testing::HasSubstr;

TEST(ApiKeys, KnowsAKeyByItsDigest) {
  const auto keys = ApiKeys::Parse(
      "# comment\n" + formats::Sha256Hex("one") + " alice\r\n\n" + formats::Sha256Hex("two") + "\n",
      "keys");
  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_EQ(keys->NameOf("Bearer one"), "alice");
  EXPECT_EQ(keys->NameOf("bearer two"), "key-2");
  EXPECT_EQ(keys->NameOf("Bearer  one"), "alice") << "any number of blanks";
  for (const char* wrong :
       {"", "one", "Bearer", "Bearer ", "Bearer  ", "Bearer three", "Basic one"}) {
    EXPECT_EQ(keys->NameOf(wrong), std::nullopt) << wrong;
  }
}

TEST(ApiKeys, TellsTheLineThatIsNone) {
  EXPECT_THAT(Message(ApiKeys::Parse("\nsecret alice\n", "keys").status()), HasSubstr("keys:2"));
  EXPECT_FALSE(ApiKeys::Parse("# nobody\n", "keys").ok());
}

TEST(KeyFile, IsReadAgainWhenItChangesAndKeptWhenItIsBroken) {
  TemporaryDirectory files;
  const std::string path = files.File("keys");
  ASSERT_TRUE(WriteFileAtomically(path, formats::Sha256Hex("old") + " a\n").ok());
  EventLoop loop;
  OffloadPool pool(loop, {});
  auto file = KeyFile::Open(path);
  ASSERT_TRUE(file.ok());
  (*file)->Watch(loop, pool, std::chrono::milliseconds(5));
  const auto wait = [&](const std::function<bool()>& condition) {
    const auto asks = loop.Every(std::chrono::milliseconds(5), [&] {
      if (condition()) loop.Stop();
    });
    loop.Run();
  };
  ASSERT_TRUE(WriteFileAtomically(path, "broken\n").ok());
  ASSERT_TRUE(WriteFileAtomically(path, formats::Sha256Hex("new") + " b\n").ok());
  wait([&] { return (*file)->keys().NameOf("Bearer new").has_value(); });
  EXPECT_EQ((*file)->keys().NameOf("Bearer old"), std::nullopt);
}

}  // namespace
}  // namespace gp::http
