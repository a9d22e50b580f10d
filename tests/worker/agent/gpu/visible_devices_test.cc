#include "worker/agent/gpu/visible_devices.h"

#include <gtest/gtest.h>

namespace gp::agent {
namespace {

using Indices = std::vector<size_t>;

const std::vector<GpuNames> kThree = {{0, "GPU-aaaa"}, {1, "GPU-bbbb"}, {2, "GPU-bbcc"}};

TEST(VisibleDevices, AllAndNone) {
  EXPECT_EQ(VisibleDevices("all", nullptr).Choose(kThree), (Indices{0, 1, 2}));
  EXPECT_EQ(VisibleDevices("none", nullptr).Choose(kThree), Indices{});
  EXPECT_EQ(VisibleDevices("all", "").Choose(kThree), Indices{});
}

TEST(VisibleDevices, NumbersAndBeginningsOfUuidsKeepTheirOrder) {
  EXPECT_EQ(VisibleDevices("2,0", nullptr).Choose(kThree), (Indices{2, 0}));
  EXPECT_EQ(VisibleDevices("all", "GPU-bbcc, GPU-aa").Choose(kThree), (Indices{2, 0}));
}

TEST(VisibleDevices, TheFirstThatDoesNotExistEndsTheList) {
  EXPECT_EQ(VisibleDevices("all", "1,-1,0").Choose(kThree), Indices{1});
  EXPECT_EQ(VisibleDevices("all", "0,9,1").Choose(kThree), Indices{0});
}

TEST(VisibleDevices, WhatCanBeNoGpuIsNamed) {
  for (const char* setting : {"all", "none", "", "0", "1, 0", "GPU-5a", "MIG-7,2"}) {
    EXPECT_TRUE(VisibleDevices::Check(setting).ok()) << setting;
  }
  const Status status = VisibleDevices::Check("0,banana");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(status).substr(0, 36), "'banana' in '0,banana' is not a GPU;")
      << Message(status);
  EXPECT_FALSE(VisibleDevices::Check("0,,1").ok());
}

TEST(VisibleDevices, ARepetitionCountsOnce) {
  EXPECT_EQ(VisibleDevices("1,1,GPU-bbbb", nullptr).Choose(kThree), Indices{1});
}

TEST(VisibleDevices, TheSettingChoosesWithinTheEnvironment) {
  EXPECT_EQ(VisibleDevices("2,1", "0,2").Choose(kThree), Indices{2});
  EXPECT_EQ(VisibleDevices("none", "0,2").Choose(kThree), Indices{});
}

}  // namespace
}  // namespace gp::agent
