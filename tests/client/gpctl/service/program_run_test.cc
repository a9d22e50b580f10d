#include "client/gpctl/service/program_run.h"

#include <gtest/gtest.h>

#include "client/gpctl/service/service_fixture.h"

namespace gp::gpctl {
namespace {

class ProgramRunTest : public ServiceFixture {};

TEST_F(ProgramRunTest, RunProgramReadsOutputAndExitCode) {
  WriteScript(gpctl_.home() + "/talker", "echo \"$1 $2\"; exit 7\n");
  client::Interruption interruption;
  std::string output;
  const auto code = RunProgram({.program = gpctl_.home() + "/talker", .arguments = {"a b", "c"}},
                               interruption, [&](const std::string& piece) { output += piece; });
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(*code, 7);
  EXPECT_EQ(output, "a b c\n");
  EXPECT_EQ(RunProgram({.program = "/no/such"}, interruption, {}).status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace gp::gpctl
