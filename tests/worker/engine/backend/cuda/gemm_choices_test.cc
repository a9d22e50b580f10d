// Goal: what Encode writes Parse reads, and nothing else passes.
#include "worker/engine/backend/cuda/gemm_choices.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace gp::engine {
namespace {

GemmChoices Some() {
  GemmChoices choices("NVIDIA H200, driver 13000, cuBLASLt 13.1.0");
  choices.Set("64x96x32_bf16xbf16-fp32_tn_a16,16,16", "0123456789abcdef");
  choices.Set("1x2x3_fp32xfp32-fp32_nn_a16,16,16", "00");
  return choices;
}

TEST(GemmChoices, AreReadAsTheyWereWritten) {
  EXPECT_EQ(GemmChoices::Parse(Some().Encode()), Some());
  EXPECT_EQ(GemmChoices::Parse("a device|"), GemmChoices("a device"));
  EXPECT_TRUE(GemmChoices::Parse("a device|").empty());
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
       {"", "no bar", "d|kind", "d|=00", "d|kind=", "d|kind=xyz", "d|k=0;;"}) {
    EXPECT_THROW(GemmChoices::Parse(damaged), std::invalid_argument) << damaged;
  }
}

}  // namespace
}  // namespace gp::engine
