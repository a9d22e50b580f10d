// Goal: an object appears whole and once, also when the writer is killed or the store answers
// badly; parts that the store has are not sent again.
#include "storage/object/object_writer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <set>

#include "lib/storage/object/faulty_proxy.h"
#include "lib/storage/object/tested_store.h"

extern char** environ;

namespace gp::object {
namespace {

constexpr size_t kPartBytes = size_t{5} << 20;

// Four parts, of which the last is short.
const std::string& Content() {
  static const std::string content = SomeBytes(3 * kPartBytes + 1000, 7);
  return content;
}

Status Write(const Storage& storage, const std::string& path, std::string_view content) {
  ASSIGN_OR_RETURN(const auto writer, storage.Create(path));
  while (!content.empty()) {
    RETURN_IF_ERROR(writer->Append(content.substr(0, 3'000'000)));
    content.remove_prefix(std::min<size_t>(content.size(), 3'000'000));
  }
  return writer->Close();
}

std::string ReadAll(const Storage& storage, const std::string& path) {
  std::string content;
  const Status read = storage.Stream(path, [&content](std::string_view piece) {
    content += piece;
    return OkStatus();
  });
  EXPECT_TRUE(read.ok()) << read;
  return content;
}

class ObjectWriterTest : public ::testing::Test {
 protected:
  std::vector<Upload> Uploads() const {
    const S3Client client(OptionsAt(StoreHost()), StoreCredentials(), SystemClock());
    return client.ListUploads(path_.substr(std::string("s3://bucket/").size())).value();
  }

  // Writes through a proxy with these faults.
  Status WriteWith(FaultyProxy::Choose choose, std::chrono::milliseconds budget) {
    const FaultyProxy proxy(StoreHost(), std::move(choose));
    const Status written = Write(*StorageAt(proxy.host(), root_, budget), path_, Content());
    part_puts_ = 0;
    for (const SeenRequest& request : proxy.seen()) part_puts_ += IsPartPut(request) ? 1 : 0;
    return written;
  }

  const std::string root_ = NewRoot();
  const std::string path_ = root_ + "/file";
  const std::unique_ptr<ObjectStorage> storage_ = StorageAt(StoreHost(), root_);
  int part_puts_ = 0;
};

TEST_F(ObjectWriterTest, ObjectsOfAnySizeAreWhole) {
  for (const size_t size : {size_t{0}, size_t{1}, kPartBytes, kPartBytes + 1, 2 * kPartBytes}) {
    const std::string path = fmt::format("{}/{}", root_, size);
    const std::string content = SomeBytes(size, 3);
    ASSERT_TRUE(Write(*storage_, path, content).ok()) << size;
    EXPECT_TRUE(ReadAll(*storage_, path) == content) << size;
  }
}

TEST_F(ObjectWriterTest, IsInvisibleBeforeCloseAndLeavesNothing) {
  {
    const auto writer = storage_->Create(path_);
    ASSERT_TRUE(writer.ok() && (*writer)->Append(Content()).ok());
    EXPECT_EQ(storage_->Size(path_).status().code(), StatusCode::kNotFound);
    EXPECT_EQ(Uploads().size(), 1u);
  }
  EXPECT_EQ(Uploads().size(), 0u);
}

TEST_F(ObjectWriterTest, PartsAreSentAgainAfterFaults) {
  const auto once = [seen = std::set<std::string>()](const SeenRequest& request) mutable {
    const bool is_first = IsPartPut(request) && seen.insert(request.target).second;
    if (!is_first) return Fault::kNone;
    return std::vector{Fault::kSlowDown, Fault::kAnswerLost, Fault::kResetBefore,
                       Fault::kServerError}[seen.size() - 1];
  };
  ASSERT_TRUE(WriteWith(once, std::chrono::seconds(60)).ok());
  EXPECT_EQ(part_puts_, 8);
  EXPECT_TRUE(ReadAll(*storage_, path_) == Content());
}

TEST_F(ObjectWriterTest, ALostAnswerToTheEndIsNoFailure) {
  const auto lost = [is_lost = false](const SeenRequest& request) mutable {
    return IsCompletion(request) && !std::exchange(is_lost, true) ? Fault::kAnswerLost
                                                                  : Fault::kNone;
  };
  const Status written = WriteWith(lost, std::chrono::seconds(60));
  EXPECT_TRUE(written.ok()) << written;
  EXPECT_TRUE(ReadAll(*storage_, path_) == Content());
}

TEST_F(ObjectWriterTest, AnUploadThatFailedGoesOn) {
  const auto third_fails = [](const SeenRequest& request) {
    return IsPartPut(request) && request.target.find("partNumber=3") != std::string::npos
               ? Fault::kServerError
               : Fault::kNone;
  };
  EXPECT_EQ(WriteWith(third_fails, std::chrono::milliseconds(0)).code(), StatusCode::kUnavailable);
  EXPECT_EQ(storage_->Size(path_).status().code(), StatusCode::kNotFound);
  ASSERT_EQ(Uploads().size(), 1u);
  const auto no_fault = [](const SeenRequest&) { return Fault::kNone; };
  const Status again = WriteWith(no_fault, std::chrono::milliseconds(0));
  ASSERT_TRUE(again.ok()) << again;
  EXPECT_LE(part_puts_, 2) << "the first two parts are there";
  EXPECT_TRUE(ReadAll(*storage_, path_) == Content());
  EXPECT_EQ(Uploads().size(), 0u);
}

// A child process writes the object and dies at the failpoint. A process reads GP_FAILPOINT only
// once, so it is a new run of this program that executes only the case below.
int WriteInChild(const std::string& root, const std::string& failpoint) {
  std::vector<std::string> variables = {"GP_FAILPOINT=" + failpoint, "GP_ROOT=" + root};
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  environment.push_back(nullptr);
  std::string program = "/proc/self/exe", filter = "--gtest_filter=Child.DISABLED_Writes",
              disabled = "--gtest_also_run_disabled_tests";
  char* arguments[] = {program.data(), filter.data(), disabled.data(), nullptr};
  pid_t child = 0;
  EXPECT_EQ(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environment.data()),
            0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(Child, DISABLED_Writes) {
  const std::string root = VariableOf("GP_ROOT");
  ASSERT_TRUE(Write(*StorageAt(StoreHost(), root), root + "/file", Content()).ok());
}

TEST_F(ObjectWriterTest, AnUploadWhoseWriterWasKilledGoesOn) {
  for (const char* failpoint : {"object.upload_begun:kill", "object.part_put:kill",
                                "object.part_put:kill@2", "object.before_complete:kill"}) {
    const int status = WriteInChild(root_, failpoint);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << failpoint;
    EXPECT_EQ(storage_->Size(path_).status().code(), StatusCode::kNotFound) << failpoint;
    EXPECT_EQ(Uploads().size(), 1u) << "the next writer takes up the same upload: " << failpoint;
  }
  const auto no_fault = [](const SeenRequest&) { return Fault::kNone; };
  ASSERT_TRUE(WriteWith(no_fault, std::chrono::seconds(60)).ok());
  EXPECT_EQ(part_puts_, 0) << "the last one that was killed had put all parts";
  EXPECT_TRUE(ReadAll(*storage_, path_) == Content());
  EXPECT_EQ(Uploads().size(), 0u);
}

// What was uploaded of another content is not taken for this one.
TEST_F(ObjectWriterTest, OnlyEqualPartsAreKept) {
  const int status = WriteInChild(root_, "object.before_complete:kill");
  ASSERT_TRUE(WIFSIGNALED(status));
  std::string other = Content();
  other[kPartBytes + 5] = static_cast<char>(other[kPartBytes + 5] + 1);
  ASSERT_TRUE(Write(*storage_, path_, other).ok());
  EXPECT_TRUE(ReadAll(*storage_, path_) == other);
}

TEST_F(ObjectWriterTest, InterruptedUploadsAreSwept) {
  ASSERT_TRUE(WIFSIGNALED(WriteInChild(root_, "object.part_put:kill")));
  const WallTime now = SystemClock().WallNow();
  EXPECT_EQ(storage_->SweepUploads(root_, now - std::chrono::hours(24)).value(), 0);
  EXPECT_EQ(Uploads().size(), 1u);
  EXPECT_EQ(storage_->SweepUploads(root_ + "/other", now + std::chrono::hours(24)).value(), 0);
  EXPECT_EQ(storage_->SweepUploads(root_, now + std::chrono::hours(24)).value(), 1);
  EXPECT_EQ(Uploads().size(), 0u);
}

}  // namespace
}  // namespace gp::object
