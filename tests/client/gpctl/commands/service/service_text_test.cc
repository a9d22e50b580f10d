#include "client/gpctl/commands/service/service_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/gpctl/test_console.h"

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ServiceTextTest : public ::testing::Test {
 protected:
  ServiceTextTest() {
    test_.console.environment = {{"HOME", "/no/home"}};
    record_.address = "unix:/state/coordinator.sock";
    record_.coordinator_metrics = "127.0.0.1:1";
    record_.worker_metrics = "127.0.0.1:2";
    record_.gateway_address = "127.0.0.1:3";
    record_.gateway.pid = 7;
    record_.workers = 2;
    record_.cores = 4;
  }

  std::string Text() const { return ServiceText(directory_, record_, session_); }

  const ServiceDirectory directory_{"/state"};
  ServiceRecord record_;
  testing::TestConsole test_;
  const Session session_{GlobalOptions{}, test_.console};
};

TEST_F(ServiceTextTest, NamesAddressesAndSlots) {
  EXPECT_THAT(Text(), AllOf(HasSubstr("worker       2 slots on 4 cores"),
                            HasSubstr("gateway      http://127.0.0.1:3"), HasSubstr("submit "),
                            Not(HasSubstr("Prometheus")), Not(HasSubstr("listens"))));
  const Json fields = ServiceFields(directory_, record_);
  EXPECT_EQ(fields.at("gateway"), "http://127.0.0.1:3");
  EXPECT_EQ(fields.at("monitoring"), "");
  EXPECT_EQ(fields.at("workers"), 2);
}

TEST_F(ServiceTextTest, SaysWhatDoesNotRunAndWhy) {
  record_.gateway_problem = "its port is taken";
  record_.gpus = {"NVIDIA H100"};
  record_.gpu_problem = "no driver";
  EXPECT_THAT(Text(), AllOf(HasSubstr("gateway      not running: its port is taken"),
                            HasSubstr("GPU          NVIDIA H100"),
                            HasSubstr("GPU          not used: no driver")));
  EXPECT_EQ(ServiceFields(directory_, record_).at("gateway"), "");
}

}  // namespace
}  // namespace gp::gpctl
