// Deletion of runs by a real gp-coordinator: what the disk and the answers show, also after kills.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/file.h"
#include "coordinator/coordinator_fixture.h"
#include "gp/v1/storage_service.grpc.pb.h"
#include "lib/base/small_disk.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

class StorageServiceTest : public CoordinatorFixture {
 protected:
  void SetUp() override {
    CoordinatorFixture::SetUp();
    storage_ = NewStorageStub();
  }
  std::unique_ptr<v1::StorageService::Stub> NewStorageStub() {
    return v1::StorageService::NewStub(rpc::MakeChannel(process_.address()));
  }

  // A run that has ended without having trained; its directory holds `bytes` more.
  v1::Run EndedRun(const std::string& request_id, size_t bytes = 0) {
    const v1::Run run = SubmitSmoke(request_id);
    Cancel(run.run_id(), request_id + "-cancel");
    EXPECT_TRUE(Eventually([&] { return FileExists(DirectoryOf(run) + "/run.yaml"); }));
    EXPECT_TRUE(Eventually([&] { return FileExists(LinkOf(run)); }));
    const std::string checkpoints = DirectoryOf(run) + "/checkpoints/not-sealed";
    EXPECT_TRUE(MakeDirectories(checkpoints).ok());
    EXPECT_TRUE(WriteFileAtomically(checkpoints + "/model", std::string(bytes, 'x')).ok());
    return run;
  }
  std::string DirectoryOf(const v1::Run& run) const {
    return process_.storage_root() + "/runs/" + run.run_id();
  }
  std::string LinkOf(const v1::Run& run) const {
    return process_.storage_root() + "/tensorboard/" + run.name() + "-" + run.run_id();
  }

  Status Delete(const std::string& run, const std::string& request_id,
                v1::DeleteRunResponse* response = nullptr, bool dry_run = false) {
    v1::DeleteRunRequest request;
    request.set_request_id(request_id);
    request.set_run(run);
    request.set_dry_run(dry_run);
    v1::DeleteRunResponse unused;
    grpc::ClientContext context;
    SetDeadline(context);
    return rpc::FromGrpc(
        storage_->DeleteRun(&context, request, response == nullptr ? &unused : response));
  }
  Status GetStatus(const std::string& run) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::GetRequest request;
    request.set_run(run);
    v1::Run response;
    return rpc::FromGrpc(stub_->Get(&context, request, &response));
  }
  std::vector<std::string> ListedIds() {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::ListRequest request;
    request.set_include_finished(true);
    v1::ListResponse response;
    EXPECT_TRUE(stub_->List(&context, request, &response).ok());
    std::vector<std::string> ids;
    for (const v1::Run& run : response.runs()) ids.push_back(run.run_id());
    return ids;
  }

  std::unique_ptr<v1::StorageService::Stub> storage_;
};

TEST_F(StorageServiceTest, ADeletedRunLeavesTheListAndTheDisk) {
  const v1::Run kept = EndedRun("kept");
  const v1::Run run = EndedRun("gone", 100'000);
  v1::DeleteRunResponse response;
  ASSERT_TRUE(Delete("smoke", "look", &response, /*dry_run=*/true).ok());
  EXPECT_GT(response.freed_bytes(), 100'000u);
  EXPECT_TRUE(FileExists(DirectoryOf(run)));
  ASSERT_TRUE(Delete("smoke", "delete-1", &response).ok());
  EXPECT_EQ(response.run_id(), run.run_id());
  EXPECT_EQ(response.run_name(), "smoke");
  EXPECT_GT(response.freed_bytes(), 100'000u);
  EXPECT_EQ(ListedIds(), std::vector<std::string>{kept.run_id()});
  EXPECT_TRUE(Eventually([&] { return !FileExists(DirectoryOf(run)); }));
  EXPECT_FALSE(FileExists(LinkOf(run)));
  EXPECT_TRUE(FileExists(DirectoryOf(kept)));

  const Status told = GetStatus(run.run_id());
  EXPECT_EQ(told.code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(told), HasSubstr("was deleted by owner at 2"));
  EXPECT_EQ(rpc::ReasonOf(told), rpc::kRunDeleted);
  EXPECT_EQ(Get("smoke").run_id(), kept.run_id()) << "the name belongs to the other run";
  const v1::Run next = SubmitSmoke("next");
  EXPECT_EQ(next.name(), "smoke");
}

TEST_F(StorageServiceTest, ARepeatedDeletionIsAnsweredAgain) {
  const v1::Run run = EndedRun("r", 1000);
  v1::DeleteRunResponse first, again;
  ASSERT_TRUE(Delete(run.run_id(), "delete-1", &first).ok());
  Restart();
  storage_ = NewStorageStub();
  const v1::Run namesake = EndedRun("namesake");
  ASSERT_TRUE(Delete("smoke", "delete-1", &again).ok());
  EXPECT_EQ(again.run_id(), run.run_id()) << "not the run that has the name now";
  EXPECT_EQ(again.freed_bytes(), first.freed_bytes());
  EXPECT_EQ(ListedIds(), std::vector<std::string>{namesake.run_id()});
  const Status other = Delete(run.run_id(), "delete-2");
  EXPECT_EQ(other.code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(other), HasSubstr("was deleted already"));
}

TEST_F(StorageServiceTest, ARequestIdOfAnotherCallIsRefused) {
  const v1::Run run = EndedRun("r");
  const Status refused = Delete(run.run_id(), "r");
  EXPECT_EQ(refused.code(), StatusCode::kAlreadyExists) << refused;
  EXPECT_EQ(Delete(run.run_id(), "").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ListedIds(), std::vector<std::string>{run.run_id()});
  ASSERT_TRUE(Delete(run.run_id(), "delete-1").ok());
  v1::SubmitResponse response;
  const Status repeated = Submit(*stub_, MakeRequest("r"), response);
  EXPECT_EQ(repeated.code(), StatusCode::kAlreadyExists) << repeated;
  EXPECT_THAT(Message(repeated), HasSubstr("deleted"));
}

TEST_F(StorageServiceTest, AnUnfinishedRunIsNotDeleted) {
  const v1::Run run = SubmitSmoke("r");
  const Status refused = Delete(run.run_id(), "delete-1");
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused), HasSubstr("gpctl cancel smoke"));
  EXPECT_EQ(Delete("no-such-run", "delete-2").code(), StatusCode::kNotFound);
}

TEST_F(StorageServiceTest, OfTwoDeletionsAtOnceOneIsDone) {
  const v1::Run run = EndedRun("r");
  Status results[2];
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back(
        [&, i] { results[i] = Delete(run.run_id(), "delete-" + std::to_string(i)); });
  }
  threads.clear();
  EXPECT_NE(results[0].ok(), results[1].ok()) << results[0] << results[1];
  EXPECT_EQ((results[0].ok() ? results[1] : results[0]).code(), StatusCode::kNotFound);
  EXPECT_TRUE(Eventually([&] { return !FileExists(DirectoryOf(run)); }));
}

TEST_F(StorageServiceTest, UsageIsThatOfTheFilesTheLargestFirst) {
  const v1::Run small = EndedRun("small", 1000);
  const v1::Run large = EndedRun("large", 500'000);
  grpc::ClientContext context;
  SetDeadline(context);
  v1::DiskUsageResponse usage;
  ASSERT_TRUE(storage_->DiskUsage(&context, {}, &usage).ok());
  ASSERT_EQ(usage.runs_size(), 2);
  EXPECT_EQ(usage.runs(0).run_id(), large.run_id());
  EXPECT_GE(usage.runs(0).other_bytes(), 500'000u);
  EXPECT_EQ(usage.runs(0).state(), v1::RUN_STATE_CANCELLED);
  EXPECT_LT(usage.runs(1).other_bytes(), 10'000u);
  EXPECT_GT(usage.storage_bytes(), usage.free_storage_bytes());
  EXPECT_GT(usage.free_storage_bytes(), 0u);
}

TEST_F(StorageServiceTest, UsageOfNamedRunsMeasuresOnlyThese) {
  const v1::Run one = EndedRun("one", 1000);
  const v1::Run other = EndedRun("other", 1000);
  v1::DiskUsageRequest request;
  const auto ask = [&](v1::DiskUsageResponse& usage) {
    grpc::ClientContext context;
    SetDeadline(context);
    return rpc::FromGrpc(storage_->DiskUsage(&context, request, &usage));
  };
  request.add_runs(other.run_id());
  request.add_runs(other.run_id());
  v1::DiskUsageResponse usage;
  ASSERT_TRUE(ask(usage).ok());
  ASSERT_EQ(usage.runs_size(), 1);
  EXPECT_EQ(usage.runs(0).run_id(), other.run_id());
  ASSERT_TRUE(Delete(one.run_id(), "delete-1").ok());
  request.add_runs(one.run_id());
  const Status gone = ask(usage);
  EXPECT_EQ(gone.code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(gone), HasSubstr("was deleted by owner"));
}

TEST_F(StorageServiceTest, ARunWithoutSuchACheckpointCannotPinIt) {
  const v1::Run run = EndedRun("r");
  v1::PinCheckpointRequest request;
  request.set_run(run.run_id());
  request.set_step(10);
  request.set_pinned(true);
  grpc::ClientContext context;
  SetDeadline(context);
  v1::Checkpoint pinned;
  EXPECT_EQ(rpc::FromGrpc(storage_->PinCheckpoint(&context, request, &pinned)).code(),
            StatusCode::kNotFound);
}

// A small file system takes the place of one of the coordinator's directories.
class FullDisk : public StorageServiceTest {
 protected:
  using Directory = std::string (CoordinatorProcess::*)() const;
  FullDisk(Directory directory, const std::string& size) : disk_((process_.*directory)(), size) {}
  void SetUp() override {
    if (!disk_.mounted()) {
      GTEST_SKIP() << "mounting a small tmpfs needs root: " << disk_.why_not();
    }
    StorageServiceTest::SetUp();
  }

  SmallDisk disk_;
};

class FullStorage : public FullDisk {
 protected:
  FullStorage() : FullDisk(&CoordinatorProcess::storage_root, "32m") {}
};

TEST_F(FullStorage, StopsNoDeletion) {
  const v1::Run run = EndedRun("r", 1 << 20);
  disk_.Fill();
  v1::DeleteRunResponse response;
  const Status deleted = Delete(run.run_id(), "delete-1", &response);
  ASSERT_TRUE(deleted.ok()) << deleted;
  EXPECT_GT(response.freed_bytes(), uint64_t{1} << 20);
  EXPECT_TRUE(Eventually([&] { return !FileExists(DirectoryOf(run)); }));
  EXPECT_GT(FreeBytes(process_.storage_root()).value(), uint64_t{1} << 19);
}

class FullState : public FullDisk {
 protected:
  FullState() : FullDisk(&CoordinatorProcess::state_dir, "16m") {}
};

TEST_F(FullState, RefusesADeletionAndLosesNothing) {
  const v1::Run run = EndedRun("r", 1000);
  disk_.Fill();
  const Status refused = Delete(run.run_id(), "delete-1");
  EXPECT_TRUE(refused.code() == StatusCode::kResourceExhausted ||
              refused.code() == StatusCode::kUnavailable)
      << refused;
  EXPECT_EQ(ListedIds(), std::vector<std::string>{run.run_id()});
  EXPECT_TRUE(FileExists(DirectoryOf(run) + "/run.yaml"));
  disk_.Unfill();
  // A refusal that can be recorded again shows that the audit log works.
  EXPECT_TRUE(Eventually([&] { return Delete(run.run_id(), "delete-1").ok(); }));
  EXPECT_TRUE(Eventually([&] { return !FileExists(DirectoryOf(run)); }));
}

// Kills the coordinator at each point of a deletion. Afterwards the run is listed with all its
// files, or it is not listed and its files go.
class DeletionKilled : public StorageServiceTest,
                       public ::testing::WithParamInterface<const char*> {};

TEST_P(DeletionKilled, LeavesTheRunWholeOrGone) {
  const v1::Run run = EndedRun("r", 1000);
  const v1::Run other = EndedRun("other", 1000);
  process_.Kill();
  {
    CoordinatorProcess fragile(directory_.path(),
                               {std::string("GP_FAILPOINT=") + GetParam() + ":kill"});
    fragile.Start();
    storage_ = v1::StorageService::NewStub(rpc::MakeChannel(fragile.address()));
    (void)Delete(run.run_id(), "delete-1");
    fragile.Kill();
  }
  process_.Start();
  stub_ = process_.NewStub();
  storage_ = NewStorageStub();
  const std::vector<std::string> listed = ListedIds();
  if (std::string(GetParam()) == "store.before_commit") {
    EXPECT_EQ(listed.size(), 2u);
    EXPECT_TRUE(FileExists(DirectoryOf(run) + "/checkpoints/not-sealed/model") ||
                FileExists(DirectoryOf(run) + "/run.yaml"));
    ASSERT_TRUE(Delete(run.run_id(), "delete-1").ok());
  } else {
    EXPECT_EQ(listed, std::vector<std::string>{other.run_id()});
    EXPECT_TRUE(Delete(run.run_id(), "delete-1").ok()) << "the client repeats its request";
  }
  EXPECT_TRUE(Eventually([&] { return !FileExists(DirectoryOf(run)); }));
  EXPECT_FALSE(FileExists(LinkOf(run)));
  EXPECT_TRUE(FileExists(DirectoryOf(other) + "/run.yaml"));
  EXPECT_EQ(ListedIds(), std::vector<std::string>{other.run_id()});
}

INSTANTIATE_TEST_SUITE_P(Points, DeletionKilled,
                         ::testing::Values("store.before_commit", "store.after_commit",
                                           "reconciler.before_answer",
                                           "run_directories.before_delete",
                                           "run_directories.checkpoints_deleted",
                                           "run_directories.after_delete"));

}  // namespace
}  // namespace gp::coordinator
