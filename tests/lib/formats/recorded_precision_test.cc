#include "formats/recorded_precision.h"

#include <gtest/gtest.h>

namespace gp::formats {
namespace {

using runspec::Precision;

CheckpointManifest Recorded(const std::string& precision) {
  CheckpointManifest manifest;
  manifest.step = 7;
  manifest.record.precision = precision;
  return manifest;
}

TEST(RecordedPrecision, ComesBackAsItWasWritten) {
  for (const Precision precision :
       {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16, Precision::kFp8}) {
    CheckpointManifest manifest;
    manifest.record.precision = PrecisionText(precision);
    EXPECT_EQ(RecordedPrecision(manifest).value(), precision);
  }
  EXPECT_EQ(RecordedPrecision({}).value(), std::nullopt) << "a record of an older version";
}

TEST(RecordedPrecision, AnUnknownOneIsRefusedUnlessAnotherIsAskedFor) {
  const auto inferred = InferencePrecision(Precision::kAuto, Recorded("fp4"));
  EXPECT_EQ(inferred.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(inferred.status()).find("step 7: record.precision is 'fp4'"), std::string::npos)
      << inferred.status();
  EXPECT_EQ(InferencePrecision(Precision::kBf16, Recorded("fp4")).value(), Precision::kBf16);
}

TEST(RecordedPrecision, InferenceTakesTheNearestThatLosesNoDigits) {
  const std::pair<const char*, Precision> cases[] = {{"fp32", Precision::kFp32},
                                                     {"tf32", Precision::kFp32},
                                                     {"bf16", Precision::kBf16},
                                                     {"fp16", Precision::kFp32},
                                                     {"fp8", Precision::kBf16}};
  for (const auto& [recorded, expected] : cases) {
    EXPECT_EQ(InferencePrecision(Precision::kAuto, Recorded(recorded)).value(), expected)
        << recorded;
  }
  EXPECT_EQ(InferencePrecision(Precision::kAuto, {}).value(), Precision::kFp32);
}

TEST(RecordedPrecision, OnlyWhatInferenceHasMayBeAskedFor) {
  EXPECT_EQ(ParseInferencePrecision("auto").value(), Precision::kAuto);
  EXPECT_EQ(ParseInferencePrecision("bf16").value(), Precision::kBf16);
  EXPECT_EQ(ParseInferencePrecision("fp32").value(), Precision::kFp32);
  EXPECT_EQ(ParseInferencePrecision("fp8").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gp::formats
