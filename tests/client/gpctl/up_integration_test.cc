// `gpctl up --detach` and `down` with the real coordinator and agent, and the fake trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/eventually.h"
#include "base/file.h"
#include "client/gpctl/service/process.h"
#include "client/gpctl/service/program_run.h"
#include "client/gpctl/service/service_directory.h"

namespace gp::gpctl {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Result {
  int code = -1;
  std::string out;
};

class UpTest : public ::testing::Test {
 protected:
  UpTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gpctl-up-XXXXXX").string();
    home_ = mkdtemp(pattern.data());
    setenv("HOME", home_.c_str(), 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_STATE_HOME");
    unsetenv("GPCTL_SERVER");
  }
  ~UpTest() override {
    Gpctl({"down", "--state-dir", State("a")});
    Gpctl({"down", "--state-dir", State("b")});
    std::filesystem::remove_all(home_);
  }

  std::string State(const std::string& name) const { return home_ + "/" + name; }

  Result Gpctl(const std::vector<std::string>& arguments) {
    client::Interruption interruption;
    Result result;
    const auto code =
        RunProgram({.program = JoinPath(std::getenv("GP_BIN"), "gpctl"), .arguments = arguments},
                   interruption, [&result](const std::string& piece) { result.out += piece; });
    result.code = code.value_or(-1);
    return result;
  }

  Result Up(const std::string& name) {
    return Gpctl({"up", "--detach", "--workers", "2", "--trainer", GP_FAKE_TRAINER, "--state-dir",
                  State(name), "-o", "json"});
  }

  std::string home_;
};

TEST_F(UpTest, TwoServicesRunSideBySideAndStop) {
  const Result a = Up("a");
  ASSERT_EQ(a.code, 0) << a.out;
  const Result b = Up("b");
  ASSERT_EQ(b.code, 0) << b.out;
  EXPECT_NE(json::parse(a.out)["address"], json::parse(b.out)["address"]);
  EXPECT_EQ(json::parse(a.out)["workers"], 2);
  EXPECT_EQ(Gpctl({"list", "--state-dir", State("a")}).code, 0);
  EXPECT_EQ(Gpctl({"list"}).code, 0);  // the context leads to the one that came up last
  const ServiceRecord record = *ServiceDirectory(State("a")).Load();
  EXPECT_EQ(Gpctl({"down", "--state-dir", State("a")}).code, 0);
  for (const ProcessIdentity& process : {record.supervisor, record.coordinator, record.worker}) {
    EXPECT_FALSE(IsAlive(process)) << process.program;
  }
  EXPECT_TRUE(IsAlive(ServiceDirectory(State("b")).Load()->coordinator));
}

TEST_F(UpTest, UpIsIdempotentAndComesBackOnTheSameAddress) {
  const Result first = Up("a");
  ASSERT_EQ(first.code, 0) << first.out;
  EXPECT_EQ(Up("a").out, first.out);
  ASSERT_EQ(Gpctl({"down", "--state-dir", State("a")}).code, 0);
  const Result again = Up("a");
  ASSERT_EQ(again.code, 0);
  EXPECT_EQ(json::parse(again.out)["address"], json::parse(first.out)["address"]);
}

TEST_F(UpTest, FindsTheGpusAndOffersThem) {
  std::ofstream(State("gpus")) << "driver version=580.65.06 cuda=13000\n"
                                  "gpu uuid=GPU-a name=NVIDIA_H100 memory=85899345920 "
                                  "capability=9.0\n";
  setenv("GP_FAKE_NVML", State("gpus").c_str(), 1);
  setenv("LD_LIBRARY_PATH", GP_FAKE_NVML_DIRECTORY, 1);
  const Result up = Gpctl({"up", "--detach", "--workers", "2", "--gpu-trainer", GP_FAKE_TRAINER,
                           "--state-dir", State("a"), "-o", "json"});
  unsetenv("GP_FAKE_NVML");
  unsetenv("LD_LIBRARY_PATH");
  ASSERT_EQ(up.code, 0) << up.out;
  EXPECT_EQ(json::parse(up.out)["gpus"], json({"NVIDIA H100, 80.0 GiB, sm_90"}));
  EXPECT_EQ(json::parse(up.out)["workers"], 2);
  EXPECT_THAT(Gpctl({"workers", "list", "--state-dir", State("a")}).out, HasSubstr("gpu-0"));
}

TEST_F(UpTest, ACommandSucceedsAcrossAKilledCoordinator) {
  ASSERT_EQ(Up("a").code, 0);
  const ServiceDirectory directory(State("a"));
  const ProcessIdentity coordinator = directory.Load()->coordinator;
  ASSERT_EQ(kill(coordinator.pid, SIGKILL), 0);
  EXPECT_EQ(Gpctl({"list", "--state-dir", State("a"), "--timeout", "30s"}).code, 0);
  EXPECT_NE(directory.Load()->coordinator, coordinator);
}

TEST_F(UpTest, AKilledSupervisorIsReplacedByTheNextUp) {
  ASSERT_EQ(Up("a").code, 0);
  const ServiceDirectory directory(State("a"));
  const ServiceRecord before = *directory.Load();
  ASSERT_EQ(kill(before.supervisor.pid, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] { return !IsAlive(before.supervisor); }));
  ASSERT_EQ(Up("a").code, 0);
  EXPECT_EQ(directory.Load()->coordinator, before.coordinator);
  EXPECT_EQ(directory.Load()->worker, before.worker);
}

}  // namespace
}  // namespace gp::gpctl
