// gp-coordinator as a process: what keeps it from starting, and how it stops.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/file.h"
#include "coordinator/coordinator_fixture.h"

namespace gp::coordinator {
namespace {

class StartAndStop : public CoordinatorFixture {};

TEST_F(StartAndStop, ASecondOneOnTheSameStateIsRefused) {
  CoordinatorProcess second(directory_.path());
  std::string error;
  EXPECT_EQ(second.RunToEnd(error), 1);
  EXPECT_NE(error.find("in use by another coordinator"), std::string::npos) << error;
}

TEST_F(StartAndStop, APortInUseIsNamed) {
  TemporaryDirectory other;
  CoordinatorProcess second(other.path());
  second.SetFlags({"--socket", process_.address().substr(std::string("unix:").size())});
  std::string error;
  EXPECT_EQ(second.RunToEnd(error), 1);
  EXPECT_NE(error.find(process_.address()), std::string::npos) << error;
}

TEST_F(StartAndStop, StopsCleanlyWhenAsked) { EXPECT_EQ(process_.Terminate(), 0); }

TEST_F(StartAndStop, StopsCleanlyAlthoughAFileSystemHangs) {
  const v1::Run run = SubmitSmoke("r1");
  const std::string records = JoinPath(JoinPath(process_.state_dir(), "runs"), run.run_id());
  ASSERT_TRUE(MakeDirectories(records).ok());
  // Opening a FIFO waits for its writer.
  ASSERT_EQ(mkfifo(JoinPath(records, "lines.log").c_str(), 0600), 0);
  grpc::ClientContext context;
  v1::LogsRequest logs;
  logs.set_run(run.run_id());
  const auto stream = stub_->Logs(&context, logs);
  // Its turn comes later: the FIFO is being opened when it is answered.
  EXPECT_EQ(EventsOfKind(run.run_id(), "submitted").size(), 1u);
  EXPECT_EQ(process_.Terminate(), 0);
  EXPECT_FALSE(stream->Finish().ok());
}

}  // namespace
}  // namespace gp::coordinator
