#include "client/gpctl/commands/chat/chat_settings.h"

#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

Status Set(const std::string& line, SampleOptions& options) {
  return SetChatSetting(ParseChatCommand(line), options);
}

TEST(ChatSettings, ALineIsANameAndAnArgument) {
  EXPECT_EQ(ParseChatCommand("/quit").name, "quit");
  EXPECT_EQ(ParseChatCommand("/quit  ").argument, "");
  EXPECT_EQ(ParseChatCommand("/model  demo@2000 ").name, "model");
  EXPECT_EQ(ParseChatCommand("/model  demo@2000 ").argument, "demo@2000");
  EXPECT_EQ(ParseChatCommand("/").name, "");
}

TEST(ChatSettings, EachIsSetWithinItsLimits) {
  SampleOptions options;
  EXPECT_TRUE(Set("/temperature 0.7", options).ok());
  EXPECT_TRUE(Set("/top-k 0", options).ok());
  EXPECT_TRUE(Set("/seed 18446744073709551615", options).ok());
  EXPECT_EQ(options.temperature, 0.7);
  EXPECT_EQ(options.top_k, 0);
  EXPECT_EQ(options.seed, 18446744073709551615u);
  for (const char* line :
       {"/temperature", "/temperature hot", "/temperature -1", "/temperature nan", "/top-p 1.5",
        "/max-tokens 0", "/seed -1", "/seed 1x", "/top-k 1e99"}) {
    EXPECT_EQ(Set(line, options).code(), StatusCode::kInvalidArgument) << line;
  }
  EXPECT_EQ(options.temperature, 0.7) << "what is refused changes nothing";
  EXPECT_EQ(Set("/volume 11", options).code(), StatusCode::kNotFound);
}

TEST(ChatSettings, TheyAreShownByTheNamesThatSetThem) {
  SampleOptions options;
  const std::string text = ChatSettingsText(options);
  for (const std::string& name : ChatSettingNames()) {
    EXPECT_NE(text.find(name + " "), std::string::npos) << name;
  }
  EXPECT_NE(text.find("top-k 50"), std::string::npos);
}

}  // namespace
}  // namespace gp::gpctl
