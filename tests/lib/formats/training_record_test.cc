#include "formats/training_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::formats {
namespace {

using ::testing::HasSubstr;

TEST(TrainingRecord, ComesBackEqual) {
  const TrainingRecord record{.optimizer = "muon@2",
                              .updates = 12,
                              .isa = "avx2",
                              .loss_scale = 65536.5,
                              .best_loss = 1.8890000000000002,
                              .stream_position = R"({"source":0})",
                              .seed = 18446744073709551615u,
                              .trained = "blocks, ln_f"};
  EXPECT_EQ(ParseTrainingRecord(TextsOf(record)).value(), record);
  EXPECT_EQ(ParseTrainingRecord({}).value(), TrainingRecord());
}

TEST(TrainingRecord, WritesOnlyWhatIsThere) {
  const std::map<std::string, std::string> expected = {{"updates", "12"}, {"precision", "bf16"}};
  EXPECT_EQ(TextsOf({.updates = 12, .precision = "bf16"}), expected);
}

TEST(TrainingRecord, IgnoresKeysOfALaterVersion) {
  EXPECT_EQ(ParseTrainingRecord({{"updates", "3"}, {"later", "x"}}).value(),
            (TrainingRecord{.updates = 3}));
}

TEST(TrainingRecord, NamesTheKeyThatIsNoNumber) {
  for (const char* text : {"", "x", "12x", "-1", "1.5", "99999999999999999999"}) {
    const Status status = ParseTrainingRecord({{"updates", text}}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(Message(status), HasSubstr("record.updates")) << text;
  }
  EXPECT_FALSE(ParseTrainingRecord({{"best_loss", "nan"}}).ok());
  EXPECT_FALSE(ParseTrainingRecord({{"seed", "-1"}}).ok());
}

}  // namespace
}  // namespace gp::formats
