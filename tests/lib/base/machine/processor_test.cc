#include "base/machine/processor.h"

#include <gtest/gtest.h>

namespace gp {
namespace {

TEST(Processor, TakesModelAndInstructionSetFromCpuinfo) {
  const Processor processor = ParseProcessor(
      "processor\t: 0\nmodel name\t: AMD EPYC 9B45\nflags\t\t: fpu fma avx2 avx512f avx512_bf16\n"
      "processor\t: 1\nmodel name\t: another\nflags\t\t: fpu\n");
  EXPECT_EQ(processor.model, "AMD EPYC 9B45");
  EXPECT_EQ(processor.isa, "AVX-512 with bf16");
}

TEST(Processor, Avx2CountsWithFmaAlone) {
  EXPECT_EQ(ParseProcessor("flags : avx2 fma\n").isa, "AVX2");
  EXPECT_EQ(ParseProcessor("flags : avx2\n").isa, "");
  EXPECT_EQ(ParseProcessor("flags : avx512f fma\n").isa, "AVX-512");
}

TEST(Processor, WhatTheTextDoesNotNameIsEmpty) {
  const Processor processor = ParseProcessor("Features : asimd\nmodel name\n");
  EXPECT_EQ(processor.model, "");
  EXPECT_EQ(processor.isa, "");
}

}  // namespace
}  // namespace gp
