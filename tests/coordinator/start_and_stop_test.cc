// gp-coordinator as a process: errors that prevent its start, and how it stops.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

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

TEST_F(StartAndStop, AnEmptyMountPointIsRefusedAlsoBeforeTheFirstCheckpoint) {
  const std::string run = SubmitSmoke("r1").run_id();
  ASSERT_EQ(process_.Terminate(), 0);
  const std::string aside = JoinPath(directory_.path(), "real");
  std::filesystem::rename(process_.storage_root(), aside);
  ASSERT_TRUE(MakeDirectories(process_.storage_root()).ok());
  std::string error;
  EXPECT_EQ(process_.RunToEnd(error), 1);
  EXPECT_NE(error.find("the catalogue has 1 run that must continue: mount its file system"),
            std::string::npos)
      << error;
  EXPECT_TRUE(std::filesystem::is_empty(process_.storage_root())) << "something was made in it";
  std::filesystem::remove(process_.storage_root());
  std::filesystem::rename(aside, process_.storage_root());
  process_.Start();
  stub_ = process_.NewStub();
  EXPECT_EQ(Get(run).state(), v1::RUN_STATE_QUEUED);
}

TEST_F(StartAndStop, ANewStorageIsNotTakenForTheOneThatIsMountedAgain) {
  ASSERT_EQ(process_.Terminate(), 0);
  const std::string aside = JoinPath(directory_.path(), "real");
  std::filesystem::rename(process_.storage_root(), aside);
  process_.Start();
  ASSERT_EQ(process_.Terminate(), 0);
  ASSERT_TRUE(RemoveTree(process_.storage_root()).ok());
  std::filesystem::rename(aside, process_.storage_root());
  std::string error;
  EXPECT_EQ(process_.RunToEnd(error), 1);
  EXPECT_NE(error.find("is not the storage of this catalogue"), std::string::npos) << error;
}

TEST_F(StartAndStop, StopsCleanlyWhenAsked) { EXPECT_EQ(process_.Terminate(), 0); }

TEST_F(StartAndStop, StopsCleanlyAlthoughAFileSystemHangs) {
  const v1::Run run = SubmitSmoke("r1");
  const std::string records = JoinPath(JoinPath(process_.state_dir(), "runs"), run.run_id());
  ASSERT_TRUE(MakeDirectories(records).ok());
  // open() of a FIFO blocks until it has a writer.
  ASSERT_EQ(mkfifo(JoinPath(records, "lines.log").c_str(), 0600), 0);
  grpc::ClientContext context;
  v1::LogsRequest logs;
  logs.set_run(run.run_id());
  const auto stream = stub_->Logs(&context, logs);
  // This request is handled after Logs, so its answer shows that the coordinator is opening the
  // FIFO.
  EXPECT_EQ(EventsOfKind(run.run_id(), "submitted").size(), 1u);
  EXPECT_EQ(process_.Terminate(), 0);
  EXPECT_FALSE(stream->Finish().ok());
}

}  // namespace
}  // namespace gp::coordinator
