// FakeGpus: a file that describes GPUs to the fake NVML (tests/fakes/fake_nvml.cc) for the duration
// of one test. Not thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/random_id.h"

namespace gp::agent {

class FakeGpus {
 public:
  explicit FakeGpus(const std::string& text) {
    Say(text);
    setenv("GP_FAKE_NVML", path_.c_str(), 1);
  }
  ~FakeGpus() {
    unsetenv("GP_FAKE_NVML");
    std::filesystem::remove(path_);
  }
  FakeGpus(const FakeGpus&) = delete;
  FakeGpus& operator=(const FakeGpus&) = delete;

  void Say(const std::string& text) {
    const Status status = WriteFileAtomically(path_, text);
    EXPECT_TRUE(status.ok()) << status;
  }
  static std::string Library() { return std::getenv("GP_FAKE_NVML_LIBRARY"); }

 private:
  const std::string path_ = ::testing::TempDir() + "fake_gpus_" + RandomId(8);
};

// Two H100s; the second is idle.
inline const char* kTwoGpus =
    "driver version=580.65.06 cuda=13000\n"
    "gpu uuid=GPU-aaaa name=NVIDIA_H100 memory=85899345920 used=1024 utilization=37 temperature=41 "
    "power=350000 energy=2000 ecc=2 capability=9.0\n"
    "gpu uuid=GPU-bbbb name=NVIDIA_H100 memory=85899345920 used=0 capability=9.0\n";

}  // namespace gp::agent
