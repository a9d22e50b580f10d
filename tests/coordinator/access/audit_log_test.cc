#include "coordinator/access/audit_log.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <fstream>
#include <mutex>

#include "coordinator/private_files.h"
#include "fakes/fake_clock.h"
#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using formats::AuditRecord;
using formats::VerifyAuditDirectory;

AuditRecord Mutation(const std::string& target) {
  return {.principal = "user alice",
          .token = "0123456789",
          .address = "ipv4:10.0.0.7:41022",
          .method = "gp.v1.RunService/Submit",
          .target = target,
          .outcome = "OK"};
}

AuditRecord Refusal(const std::string& address) {
  return {.principal = "nobody",
          .address = address,
          .method = "gp.v1.RunService/List",
          .outcome = "UNAUTHENTICATED"};
}

class AuditLogTest : public ::testing::Test {
 protected:
  AuditLogTest() : directory_(JoinPath(temporary_.path(), "audit")) {}

  void Open(const AuditLogOptions& options = {}) {
    log_.reset();
    auto opened = AuditLog::Open(directory_, SystemClock(), options);
    ASSERT_TRUE(opened.ok()) << opened.status();
    log_ = *std::move(opened);
  }

  // Records a change and waits until the record is durable or has failed.
  Status Write(const std::string& target) {
    std::mutex mutex;
    std::condition_variable written;
    std::optional<Status> status;
    log_->Record(Mutation(target), [&](const Status& outcome) {
      const std::lock_guard lock(mutex);
      status = outcome;
      written.notify_all();
    });
    std::unique_lock lock(mutex);
    written.wait(lock, [&] { return status.has_value(); });
    return *status;
  }

  std::vector<std::string> Files() { return formats::ListAuditFiles(directory_).value(); }
  std::string PathOf(const std::string& name) { return JoinPath(directory_, name); }

  std::vector<AuditRecord> Records() {
    std::vector<AuditRecord> records;
    for (const std::string& name : Files()) {
      const std::string content = ReadFile(PathOf(name)).value();
      std::string_view rest = content;
      while (!rest.empty()) {
        const size_t end = rest.find('\n');
        records.push_back(formats::ParseAuditLine(rest.substr(0, end))->record);
        rest.remove_prefix(end + 1);
      }
    }
    return records;
  }

  void Put(const std::string& name, const std::string& content) {
    std::ofstream(PathOf(name), std::ios::binary) << content;
  }

  TemporaryDirectory temporary_;
  const std::string directory_;
  std::unique_ptr<AuditLog> log_;
};

TEST_F(AuditLogTest, GoesOnAfterAStart) {
  for (int start = 0; start < 3; ++start) {
    Open();
    EXPECT_TRUE(Write("run-" + std::to_string(start)).ok());
  }
  const auto summary = VerifyAuditDirectory(directory_);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->count, 3u);
  EXPECT_EQ(summary->last, 3u);
  EXPECT_EQ(Records()[2].target, "run-2");
  ExpectPrivate(directory_);
}

TEST_F(AuditLogTest, IsVerifiedAfterAStartThatWroteNothing) {
  EXPECT_EQ(VerifyAuditDirectory(temporary_.path()).status().code(), StatusCode::kNotFound);
  Open();
  EXPECT_EQ(VerifyAuditDirectory(directory_)->count, 0u);
  Open();
  EXPECT_EQ(VerifyAuditDirectory(directory_)->count, 0u);
}

TEST_F(AuditLogTest, AChangeOfAnyByteIsFound) {
  Open({.file_bytes_max = 1});  // two files of one record
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Write("run-" + std::to_string(i)).ok());
  log_.reset();
  ASSERT_TRUE(VerifyAuditDirectory(directory_).ok());
  std::vector<std::string> names = Files();
  ASSERT_GT(names.size(), 1u);
  names.emplace_back(formats::kAuditHeadName);
  for (const std::string& name : names) {
    const std::string content = ReadFile(PathOf(name)).value();
    for (size_t i = 0; i < content.size(); ++i) {
      std::string changed = content;
      // Flipping bit 5 changes the case of a letter, which a case-insensitive reader would not
      // notice.
      changed[i] = static_cast<char>(changed[i] ^ (i % 2 == 0 ? 1 : 1 << 5));
      Put(name, changed);
      ASSERT_FALSE(VerifyAuditDirectory(directory_).ok()) << name << " byte " << i;
      std::string without = content;
      without.erase(i, 1);
      Put(name, without);
      ASSERT_FALSE(VerifyAuditDirectory(directory_).ok()) << name << " without byte " << i;
      Put(name, content.substr(0, i));
      ASSERT_FALSE(VerifyAuditDirectory(directory_).ok()) << name << " cut at " << i;
    }
    Put(name, content);
  }
  EXPECT_TRUE(VerifyAuditDirectory(directory_).ok());
}

TEST_F(AuditLogTest, AMissingFileIsFound) {
  Open({.file_bytes_max = 1});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Write("run-" + std::to_string(i)).ok());
  log_.reset();
  std::vector<std::string> names = Files();
  ASSERT_EQ(names.size(), 4u);
  names.emplace_back(formats::kAuditHeadName);
  for (const std::string& name : names) {
    const std::string content = ReadFile(PathOf(name)).value();
    ASSERT_TRUE(RemoveTree(PathOf(name)).ok());
    EXPECT_FALSE(VerifyAuditDirectory(directory_).ok()) << name;
    Put(name, content);
  }
}

TEST_F(AuditLogTest, AStartDoesNotHideADamage) {
  Open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Write("run-" + std::to_string(i)).ok());
  log_.reset();
  const std::string name = Files()[0];
  const std::string content = ReadFile(PathOf(name)).value();
  const std::string head = ReadFile(PathOf(formats::kAuditHeadName)).value();
  const size_t last_line = content.rfind('\n', content.size() - 2) + 1;
  std::string changed = content;
  changed[10] ^= 1;
  const std::vector<std::pair<std::string, std::string>> damages = {
      {changed, head}, {content.substr(0, last_line), head}, {content, ""}, {content, "{}"}};
  for (const auto& [log, head_text] : damages) {
    ASSERT_TRUE(RemoveTree(directory_).ok());
    ASSERT_TRUE(MakeDirectories(directory_, 0700).ok());
    Put(name, log);
    Put(formats::kAuditHeadName, head_text);
    Open();
    EXPECT_TRUE(Write("later").ok());
    log_.reset();
    EXPECT_EQ(VerifyAuditDirectory(directory_).status().code(), StatusCode::kDataLoss);
  }
}

TEST_F(AuditLogTest, ATornRecordIsCutOff) {
  Open();
  ASSERT_TRUE(Write("run-1").ok());
  log_.reset();
  const std::string name = Files()[0];
  const std::string content = ReadFile(PathOf(name)).value();
  for (const size_t length : {size_t{1}, content.size() / 2, content.size() - 1}) {
    Put(name, content + content.substr(0, length));
    EXPECT_TRUE(VerifyAuditDirectory(directory_).ok());
    Open();
    log_.reset();
    EXPECT_EQ(ReadFile(PathOf(name)).value(), content);
  }
}

TEST_F(AuditLogTest, KeepsTheNewestFiles) {
  Open({.keep_bytes = 3000, .file_bytes_max = 1000});
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(Write("run-" + std::to_string(i)).ok());
  const auto summary = VerifyAuditDirectory(directory_);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->last, 40u);
  EXPECT_GT(summary->first, 20u);
  EXPECT_LE(summary->files, 5u);
  Open();
  EXPECT_TRUE(Write("later").ok());
  EXPECT_TRUE(VerifyAuditDirectory(directory_).ok());
}

TEST_F(AuditLogTest, AFloodOfRefusalsBecomesAFewRecordsWithCounts) {
  Open();
  constexpr uint64_t kFlood = 20'000;
  for (uint64_t i = 0; i < kFlood; ++i) {
    log_->RecordRefusal(Refusal("ipv4:10.0.0.7:" + std::to_string(i)));
  }
  for (uint64_t i = 0; i < kFlood; ++i) {
    log_->RecordRefusal(Refusal("ipv4:10.1." + std::to_string(i) + ".7:41022"));
  }
  ASSERT_TRUE(Write("run-1").ok());
  log_.reset();
  uint64_t counted = 0;
  for (const AuditRecord& record : Records()) {
    if (record.outcome != "OK") counted += record.count;
  }
  EXPECT_EQ(counted, 2 * kFlood);
  EXPECT_LT(Records().size(), 100u);
  EXPECT_TRUE(VerifyAuditDirectory(directory_).ok());
}

TEST_F(AuditLogTest, TellsWhenItCannotBeWritten) {
  Open({.file_bytes_max = 1});
  ASSERT_TRUE(Write("run-1").ok());
  EXPECT_TRUE(log_->health().ok());
  // The next record begins a new file, but its directory is gone.
  ASSERT_TRUE(RemoveTree(directory_).ok());
  EXPECT_FALSE(Write("run-2").ok());
  EXPECT_FALSE(log_->health().ok());
  ASSERT_TRUE(MakeDirectories(directory_, 0700).ok());
  EXPECT_TRUE(Write("run-3").ok());
  EXPECT_TRUE(log_->health().ok());
}

}  // namespace
}  // namespace gp::coordinator
