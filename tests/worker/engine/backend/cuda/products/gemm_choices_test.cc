// Goal: Parse reads what Encode writes, and accepts nothing else.
#include "worker/engine/backend/cuda/products/gemm_choices.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace gp::engine {
namespace {

GemmChoices Some() {
  GemmChoices choices("NVIDIA H200, driver 13000, cuBLASLt 13.1.0");
  choices.Set("64x96x32_bf16xbf16-fp32_tn_a16,16,16", "0123456789abcdef");
  choices.Set("1x2x3_fp32xfp32-fp32_nn_a16,16,16", "00");
  choices.Set("64x96x32_bf16xbf16-fp32_tn_sums_a16,16,16", GemmChoices::kPassedOver);
  return choices;
}

TEST(GemmChoices, AreReadAsTheyWereWritten) {
  EXPECT_EQ(GemmChoices::Parse(Some().Encode()), Some());
  EXPECT_EQ(GemmChoices::Parse("a device|2|"), GemmChoices("a device"));
  EXPECT_TRUE(GemmChoices::Parse("a device|2|").empty());
}

TEST(GemmChoices, AreRefusedCutAtAnyPlaceThatLosesAnEntry) {
  const std::string text = Some().Encode();
  for (size_t length = 0; length < text.size() - 1; ++length) {
    try {
      EXPECT_NE(GemmChoices::Parse(text.substr(0, length)), Some()) << length;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("delete the file"), std::string::npos);
    }
  }
  for (const char* damaged :
       {"", "no bar", "d|2|kind", "d|2|=00", "d|2|kind=", "d|2|kind=xyz", "d|2|k=0;;"}) {
    EXPECT_THROW(GemmChoices::Parse(damaged), std::invalid_argument) << damaged;
  }
}

// A cache file or a record in the format of another version of gp: the device is recognised, but
// everything is timed again.
TEST(GemmChoices, OfAnotherFormatAreNone) {
  for (const char* text : {"a device|kind=00ff;other=00;", "a device|3|kind=00ff;", "a device|"}) {
    EXPECT_EQ(GemmChoices::Parse(text), GemmChoices("a device")) << text;
  }
}

TEST(GemmChoices, CoverWhatTheySaySomethingAbout) {
  GemmChoices fewer("a device");
  fewer.Set("1x2x3_fp32xfp32-fp32_nn_a16,16,16", "ff");
  EXPECT_TRUE(Some().Covers(fewer));
  EXPECT_FALSE(fewer.Covers(Some()));
  EXPECT_TRUE(GemmChoices().Covers(GemmChoices()));
}

}  // namespace
}  // namespace gp::engine
