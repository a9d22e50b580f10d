// ServiceFixture: a state directory, and shell scripts that stand in for the service's daemons.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "client/fake_run_service.h"
#include "client/gpctl/gpctl_runner.h"
#include "client/gpctl/service/local_service.h"
#include "lib/base/eventually.h"

namespace gp::gpctl {

class ServiceFixture : public ::testing::Test {
 protected:
  ServiceFixture() : directory_(gpctl_.home() + "/state") {
    v1::Node node;
    node.set_connected(true);
    node.add_slots()->set_slot_id("cpu0");
    node.add_slots()->set_slot_id("cpu1");
    service_.AddNode(node);
  }

  static void WriteScript(const std::string& path, const std::string& body) {
    std::ofstream(path) << "#!/bin/sh\n" << body;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  static bool OthersMay(const std::string& path) {
    const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
    return (std::filesystem::status(path).permissions() & others) != std::filesystem::perms::none;
  }

  // The arguments that the daemon of this name was last started with.
  std::string ArgumentsOf(const std::string& name) const {
    return ReadFile(gpctl_.home() + "/" + name + ".arguments").value_or("");
  }

  // Starts and stops a service with `options`.
  void RunOnce(const SupervisorOptions& options) {
    client::Interruption interruption;
    Supervisor supervisor(directory_, options, interruption, [](const std::string&) {});
    const Status started = supervisor.Start();
    ASSERT_TRUE(started.ok()) << started;
    interruption.Request();
    supervisor.Run();
  }

  // Writes a daemon that reports the fake coordinator's address and runs until SIGTERM. It sets its
  // signal handler before it writes the address file, so that a test may signal it after reading
  // it.
  void WriteDaemon(const std::string& name, const std::string& before = "",
                   const std::string& on_term = "") {
    WriteScript(gpctl_.home() + "/" + name,
                before + "trap '" + on_term + "exit 0' TERM\necho \"$@\" >\"$0.arguments\"\n" +
                    "while [ $# -gt 0 ]; do [ \"$1\" = --address-file ] && file=$2; shift; done\n" +
                    "echo '{\"address\": \"" + service_.address() +
                    "\", \"metrics\": \"127.0.0.1:9\", \"pid\": '$$'}' >$file.new\n" +
                    "echo started >&2\nmv $file.new $file\nwhile :; do sleep 0.02; done\n");
  }

  // Writes a daemon that ends only after the daemon `other` has also been told to end. It leaves
  // the files NAME.told and NAME.ended.
  void WriteDaemonThatAwaits(const std::string& name, const std::string& other) {
    WriteDaemon(name, "",
                fmt::format("touch $0.told; while [ ! -e {}/{}.told ]; do sleep 0.02; done; "
                            "touch $0.ended; ",
                            gpctl_.home(), other));
  }
  bool Exists(const std::string& name) const { return FileExists(gpctl_.home() + "/" + name); }

  SupervisorOptions Options() const {
    return {.program_directory = gpctl_.home(),
            .workers = 2,
            .start_timeout = kPatience,
            .stop_grace = kPatience};
  }

  testing::FakeRunService service_;
  testing::GpctlRunner gpctl_;
  ServiceDirectory directory_;
};

}  // namespace gp::gpctl
