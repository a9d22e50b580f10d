// A folder stands for /dev, a script for nvidia-modprobe.
#include "daemon/gpu_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>

#include "lib/base/temporary_directory.h"

namespace gp::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GpuDevices : public ::testing::Test {
 protected:
  void Add(std::initializer_list<const char*> names) const {
    for (const char* name : names) devices_.Write(name, "");
  }
  GpuDeviceFiles Files() const { return {devices_.path(), programs_.File("nvidia-modprobe")}; }
  // A nvidia-modprobe that checks its arguments, then does `work` in the device folder.
  void WriteModprobe(const std::string& work) const {
    const std::string path =
        programs_.Write("nvidia-modprobe", "#!/bin/sh\ntest \"$*\" = '-u -c=0' || exit 9\ncd '" +
                                               devices_.path() + "' && " + work + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  const TemporaryDirectory devices_;
  const TemporaryDirectory programs_;
};

TEST_F(GpuDevices, AnyCardCounts) {
  EXPECT_FALSE(HasGpuDevice(Files()));
  Add({"nvidiactl", "nvidia-uvm", "nvidia-caps"});
  EXPECT_FALSE(HasGpuDevice(Files()));
  Add({"nvidia3"});  // a container with the fourth card of its machine
  EXPECT_TRUE(HasGpuDevice(Files()));
}

TEST_F(GpuDevices, WindowsOffersThemThroughOneDevice) {
  Add({"dxg"});
  EXPECT_TRUE(HasGpuDevice(Files()));
  EXPECT_EQ(MakeUnifiedMemoryDevice(Files()), "");
}

TEST_F(GpuDevices, UnifiedMemoryIsMadeOnlyWhereItIsMissing) {
  WriteModprobe("touch nvidia-uvm");
  EXPECT_EQ(MakeUnifiedMemoryDevice(Files()), "");
  EXPECT_FALSE(std::filesystem::exists(devices_.File("nvidia-uvm"))) << "there is no driver";
  Add({"nvidiactl", "nvidia0"});
  EXPECT_EQ(MakeUnifiedMemoryDevice(Files()), "");
  EXPECT_TRUE(std::filesystem::exists(devices_.File("nvidia-uvm")));
  WriteModprobe("exit 1");
  EXPECT_EQ(MakeUnifiedMemoryDevice(Files()), "");
}

TEST_F(GpuDevices, AFailureSaysWhatToDo) {
  Add({"nvidiactl", "nvidia0"});
  const auto says_what_to_do =
      AllOf(HasSubstr(devices_.File("nvidia-uvm")), HasSubstr("sudo nvidia-modprobe -u -c=0"));
  EXPECT_THAT(MakeUnifiedMemoryDevice(Files()),
              AllOf(says_what_to_do, HasSubstr(Files().nvidia_modprobe)));
  WriteModprobe("exit 1");
  EXPECT_THAT(MakeUnifiedMemoryDevice(Files()),
              AllOf(says_what_to_do, HasSubstr("ended with status")));
}

}  // namespace
}  // namespace gp::daemon
