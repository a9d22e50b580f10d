#include "client/gpctl/session/label_flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LabelSettings, AreSettingsOfTheRunFile) {
  EXPECT_THAT(LabelSettings({"team=nlp", "note=a=b", "empty=", "team=nlp"}).value(),
              ElementsAre("labels.team=nlp", "labels.note=a=b", "labels.empty="));
  EXPECT_THAT(LabelSettings({}).value(), ElementsAre());
}

TEST(LabelSettings, RefuseWhatIsNoLabel) {
  for (const char* label : {"team", "=nlp", ""}) {
    const auto settings = LabelSettings({"user=x", label});
    ASSERT_FALSE(settings.ok()) << label;
    EXPECT_THAT(Message(settings.status()), HasSubstr("--label: expected KEY=VALUE"));
  }
}

TEST(LabelSettings, RefuseTwoValuesOfAKey) {
  const auto settings = LabelSettings({"team=nlp", "team=vision"});
  ASSERT_FALSE(settings.ok());
  EXPECT_THAT(Message(settings.status()), HasSubstr("one value of 'team'"));
  EXPECT_THAT(Message(settings.status()), HasSubstr("'nlp' and 'vision'"));
}

}  // namespace
}  // namespace gp::gpctl
