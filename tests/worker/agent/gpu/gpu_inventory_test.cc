// Uses the fake NVML; does not test a real driver.
#include "worker/agent/gpu/gpu_inventory.h"

#include <cstdlib>
#include <filesystem>

#include "worker/agent/fake_gpus.h"

namespace gp::agent {
namespace {

StatusOr<GpuInventory> Open(const VisibleDevices& visible = VisibleDevices("all", nullptr)) {
  return GpuInventory::Open(FakeGpus::Library(), visible);
}

TEST(GpuInventory, ListsTheGpusWithTheirDriver) {
  const FakeGpus fake(kTwoGpus);
  const auto inventory = Open();
  ASSERT_TRUE(inventory.ok()) << inventory.status();
  const std::string driver = inventory->driver().Text();
  EXPECT_STREQ(driver.c_str(), "580.65.06, CUDA 13.0");
  ASSERT_EQ(inventory->gpus().size(), 2u);
  EXPECT_EQ(inventory->gpus()[1], (Gpu{.index = 1,
                                       .uuid = "GPU-bbbb",
                                       .name = "NVIDIA H100",
                                       .memory_bytes = uint64_t{80} << 30,
                                       .compute_capability = "9.0"}));
  EXPECT_EQ(inventory->problem(), "");
}

TEST(GpuInventory, ReadsWhatAGpuOffersAndLeavesOutTheRest) {
  const FakeGpus fake(kTwoGpus);
  const auto inventory = Open();
  ASSERT_TRUE(inventory.ok()) << inventory.status();
  const auto readings = inventory->Read();
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[0].memory_used_bytes, 1024u);
  EXPECT_DOUBLE_EQ(readings[0].utilization_ratio.value(), 0.37);
  EXPECT_EQ(readings[0].temperature_celsius, 41);
  EXPECT_EQ(readings[0].power_watts, 350);
  EXPECT_EQ(readings[0].energy_joules, 2);
  EXPECT_EQ(readings[0].ecc_errors_uncorrected, 2u);
  EXPECT_EQ(readings[1].temperature_celsius, std::nullopt);
  EXPECT_EQ(readings[1].problem, "");
}

TEST(GpuInventory, MigDevicesStandInForTheirCard) {
  const FakeGpus fake(
      "driver version=580.65.06 cuda=13000\n"
      "gpu uuid=GPU-aaaa name=A100 memory=4096 capability=8.0 mig=MIG-x,MIG-y\n"
      "gpu uuid=GPU-bbbb name=A100 memory=4096 capability=8.0\n");
  const auto inventory = Open();
  ASSERT_TRUE(inventory.ok()) << inventory.status();
  ASSERT_EQ(inventory->gpus().size(), 3u);
  EXPECT_EQ(inventory->gpus()[0].uuid, "MIG-x");
  EXPECT_EQ(inventory->gpus()[1].index, 0);
  EXPECT_EQ(inventory->gpus()[1].compute_capability, "8.0");
  EXPECT_EQ(inventory->gpus()[2].uuid, "GPU-bbbb");
}

TEST(GpuInventory, AGpuWithoutMemoryOfItsOwnIsWell) {
  const FakeGpus fake(
      "driver version=580.65.06 cuda=13000\ngpu uuid=GPU-aaaa name=GB10 capability=12.1\n");
  const auto inventory = Open();
  ASSERT_TRUE(inventory.ok()) << inventory.status();
  ASSERT_EQ(inventory->gpus().size(), 1u);
  EXPECT_EQ(inventory->gpus()[0].memory_bytes, 0u);
  EXPECT_EQ(inventory->Read()[0].problem, "");
  EXPECT_EQ(inventory->Read()[0].memory_used_bytes, std::nullopt);
}

TEST(GpuInventory, OnlyVisibleDevicesAreListed) {
  const FakeGpus fake(kTwoGpus);
  const auto inventory = Open(VisibleDevices("all", "1"));
  ASSERT_TRUE(inventory.ok()) << inventory.status();
  ASSERT_EQ(inventory->gpus().size(), 1u);
  EXPECT_EQ(inventory->gpus()[0].index, 1);
}

TEST(GpuInventory, AGpuThatIsAskedForAndDoesNotExistIsNamed) {
  const FakeGpus fake(kTwoGpus);
  const auto inventory = Open(VisibleDevices("1,7", nullptr));
  ASSERT_TRUE(inventory.ok()) << inventory.status();
  EXPECT_EQ(inventory->gpus().size(), 1u);
  EXPECT_NE(inventory->problem().find("names '7'"), std::string::npos) << inventory->problem();
  EXPECT_EQ(Open(VisibleDevices("1", nullptr))->problem(), "");
  EXPECT_EQ(Open(VisibleDevices("all", "7"))->problem(), "") << "the environment limits silently";
}

TEST(GpuInventory, ALostGpuIsNamedWithTheWayOut) {
  FakeGpus fake(kTwoGpus);
  const auto inventory = Open();
  ASSERT_TRUE(inventory.ok()) << inventory.status();
  fake.Say(
      "driver version=580.65.06 cuda=13000\ngpu uuid=GPU-aaaa name=H100 memory=1024 lost=1\n"
      "gpu uuid=GPU-bbbb name=H100 memory=1024\n");
  const auto readings = inventory->Read();
  EXPECT_TRUE(readings[0].lost);
  EXPECT_NE(readings[0].problem.find("GPU 0 (NVIDIA H100) does not answer: GPU is lost"),
            std::string::npos)
      << readings[0].problem;
  EXPECT_NE(readings[0].problem.find("dmesg"), std::string::npos);
  EXPECT_FALSE(readings[1].lost);
}

TEST(GpuInventory, AGpuThatIsLostAtTheStartIsLeftOutAndNamed) {
  const FakeGpus fake(
      "driver version=580.65.06 cuda=13000\ngpu uuid=GPU-aaaa memory=1024 lost=1\n"
      "gpu uuid=GPU-bbbb name=H100 memory=1024\n");
  const auto inventory = Open();
  ASSERT_TRUE(inventory.ok()) << inventory.status();
  ASSERT_EQ(inventory->gpus().size(), 1u);
  EXPECT_EQ(inventory->gpus()[0].index, 1);
  EXPECT_EQ(inventory->problem(),
            "GPU 0 does not answer: GPU is lost; reset it with nvidia-smi -r, or reboot");
}

// As with CUDA's forward-compatibility packages. Without LD_LIBRARY_PATH, the system's libraries
// are searched.
TEST(GpuInventory, TakesTheLibraryThatLibraryPathNames) {
  const FakeGpus fake(kTwoGpus);
  const std::filesystem::path library = FakeGpus::Library();
  setenv("LD_LIBRARY_PATH", ("/nowhere::" + library.parent_path().string()).c_str(), 1);
  const auto inventory = GpuInventory::Open(library.filename(), {"all", nullptr});
  unsetenv("LD_LIBRARY_PATH");
  ASSERT_TRUE(inventory.ok()) << inventory.status();
  EXPECT_EQ(inventory->gpus().size(), 2u);
}

TEST(GpuInventory, WithoutADriverThereIsNone) {
  const auto inventory = GpuInventory::Open("libgp-no-such-nvml.so.1", {"all", nullptr});
  EXPECT_EQ(inventory.status().code(), StatusCode::kNotFound);
}

TEST(GpuInventory, ADriverThatDoesNotMatchItsLibraryIsNamedWithTheWayOut) {
  const FakeGpus fake("init code=18\n");
  const auto inventory = Open();
  EXPECT_EQ(inventory.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(inventory.status()).find("version mismatch"), std::string::npos);
  EXPECT_NE(Message(inventory.status()).find("reboot"), std::string::npos);
}

TEST(GpuInventory, ALibraryWithoutTheFunctionsIsNotUsed) {
  const auto inventory = GpuInventory::Open("libc.so.6", {"all", nullptr});
  EXPECT_EQ(inventory.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(Message(inventory.status()).find("nvmlInit_v2"), std::string::npos);
}

}  // namespace
}  // namespace gp::agent
