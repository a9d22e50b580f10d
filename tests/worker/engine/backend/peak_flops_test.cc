#include "worker/engine/backend/peak_flops.h"

#include <gtest/gtest.h>

namespace gp::engine {
namespace {

using runspec::Precision;

TEST(PeakFlops, KnowsCardsByWholeWords) {
  EXPECT_EQ(PeakFlopsOf("NVIDIA H100 80GB HBM3", Precision::kBf16).per_second, 989.4e12);
  EXPECT_EQ(PeakFlopsOf("NVIDIA H100 PCIe", Precision::kBf16).per_second, 756e12);
  EXPECT_EQ(PeakFlopsOf("NVIDIA A100-SXM4-80GB", Precision::kTf32).per_second, 156e12);
  EXPECT_EQ(PeakFlopsOf("Tesla T4", Precision::kFp16).per_second, 65e12);
  EXPECT_FALSE(PeakFlopsOf("NVIDIA H200", Precision::kFp8).source.empty());
  EXPECT_EQ(PeakFlopsOf("NVIDIA H200 NVL", Precision::kBf16).per_second, 835.5e12);
  EXPECT_EQ(PeakFlopsOf("NVIDIA H100 NVL", Precision::kTf32).per_second, 417.5e12);
  EXPECT_DOUBLE_EQ(PeakFlopsOf("NVIDIA GH200 480GB", Precision::kFp32).per_second, 66.9e12);
  EXPECT_EQ(PeakFlopsOf("NVIDIA GB200", Precision::kBf16).per_second, 2500e12);
  EXPECT_EQ(PeakFlopsOf("NVIDIA B200", Precision::kBf16).per_second, 2250e12);
}

TEST(PeakFlops, IsUnknownForOtherCardsPartsOfCardsAndMissingUnits) {
  EXPECT_EQ(PeakFlopsOf("NVIDIA RTX A4000", Precision::kBf16).per_second, 0);
  EXPECT_EQ(PeakFlopsOf("NVIDIA GeForce RTX 4080 SUPER", Precision::kBf16).per_second, 0);
  EXPECT_EQ(PeakFlopsOf("NVIDIA A100-SXM4-40GB MIG 1g.5gb", Precision::kBf16).per_second, 0);
  EXPECT_EQ(PeakFlopsOf("Tesla T4", Precision::kBf16).per_second, 0);
  EXPECT_TRUE(PeakFlopsOf("", Precision::kFp32).source.empty());
}

}  // namespace
}  // namespace gp::engine
