// Goal: records are read back completely and in order, whatever their sizes and wherever reading
// starts. A failed write leaves nothing in the file, and damage loses only the records that it
// hits.
#include "coordinator/telemetry/record_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "lib/base/temporary_directory.h"

namespace gp::coordinator {
namespace {

using Records = std::vector<std::string>;

const Records kFive = {"first", "the second", "3", std::string(30, 'x'), "fifth"};

// Simulates a full disk: while the object lives, no file of this process can grow beyond `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) {
    before_action_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, before_action_);
  }

 private:
  rlimit before_{};
  sighandler_t before_action_ = SIG_DFL;
};

class RecordFileTest : public ::testing::Test {
 protected:
  RecordFile Open(Records* found = nullptr) {
    auto file = RecordFile::Open(path_, [found](std::string_view payload) {
      if (found != nullptr) found->emplace_back(payload);
    });
    EXPECT_TRUE(file.ok()) << file.status();
    return std::move(*file);
  }

  // Reads at most `count_max` records starting at `offset`, then sets `offset` to the end of the
  // last one.
  Records Read(uint64_t& offset, size_t count_max) const {
    Records records;
    const auto end = ReadRecords(path_, offset, [&](std::string_view payload) {
      records.emplace_back(payload);
      return records.size() < count_max;
    });
    EXPECT_TRUE(end.ok()) << end.status();
    offset = end.value_or(offset);
    return records;
  }

  // Opens the file and returns its records.
  Records Reopen(uint64_t from = 0) {
    Records found;
    const auto file = RecordFile::Open(
        path_, [&](std::string_view payload) { found.emplace_back(payload); }, from);
    EXPECT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file.ok() ? file->size_bytes() : 0, *FileSize(path_));
    return found;
  }
  Records Read() {
    Records found;
    const auto end = ReadRecords(path_, 0, [&](std::string_view payload) {
      found.emplace_back(payload);
      return true;
    });
    EXPECT_TRUE(end.ok()) << end.status();
    return found;
  }
  void Append(const Records& records) {
    auto file = RecordFile::Open(path_, [](std::string_view) {});
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Append(records).ok());
    ASSERT_TRUE(file->Sync().ok());
  }
  void Write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }

  static Records Without(size_t index) {
    Records rest = kFive;
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(index));
    return rest;
  }

  TemporaryDirectory directory_;
  const std::string path_ = JoinPath(directory_.path(), "file.log");
};

// More records than one read returns, with sizes that do not align.
Records ManyRecords() {
  Records records;
  for (size_t i = 0; i < 400; ++i) {
    records.emplace_back(1 + i * 37 % 2003, static_cast<char>('a' + i % 26));
  }
  return records;
}

TEST_F(RecordFileTest, RecordsOfAllSizesComeBackInOrder) {
  const Records records = ManyRecords();
  ASSERT_TRUE(Open().Append(records).ok());
  Records found;
  Open(&found);
  EXPECT_EQ(found, records);
  for (const size_t at_once : {1u, 7u, 399u, 400u, 401u}) {
    Records read;
    uint64_t offset = 0;
    for (Records page = Read(offset, at_once); !page.empty(); page = Read(offset, at_once)) {
      read.insert(read.end(), page.begin(), page.end());
    }
    EXPECT_EQ(read, records) << at_once << " at once";
  }
}

TEST_F(RecordFileTest, AWriteThatFailedLeavesNothingAndTheNextOneFollowsWhatWasThere) {
  RecordFile file = Open();
  ASSERT_TRUE(file.Append({"one"}).ok());
  {
    const FileSizeLimit full(file.size_bytes() + 500);
    EXPECT_FALSE(file.Append({std::string(100, 'x'), std::string(1000, 'y')}).ok());
  }
  uint64_t offset = 0;
  EXPECT_EQ(Read(offset, 10), Records{"one"}) << "half of a refused batch";
  ASSERT_TRUE(file.Append({"two"}).ok());
  offset = 0;
  EXPECT_EQ(Read(offset, 10), (Records{"one", "two"}));
}

TEST_F(RecordFileTest, ADamagedByteCostsTheRecordItIsIn) {
  Append(kFive);
  const std::string whole = *ReadFile(path_);
  size_t offset = kRecordFileMagic.size();
  for (size_t index = 0; index < kFive.size(); ++index) {
    for (const size_t end = offset + kRecordHeaderBytes + kFive[index].size(); offset < end;
         ++offset) {
      std::string damaged = whole;
      damaged[offset] = static_cast<char>(damaged[offset] ^ 0x11);
      Write(damaged);
      ASSERT_EQ(Read(), Without(index)) << "byte " << offset;
      ASSERT_EQ(Reopen(), Without(index)) << "byte " << offset;
      ASSERT_EQ(Reopen(), Without(index)) << "byte " << offset;
      Append({"more"});
      ASSERT_EQ(Read().back(), "more") << "byte " << offset;
    }
  }
}

TEST_F(RecordFileTest, BytesThatAreMissingOrTooManyCostTheRecordTheyAreIn) {
  Append(kFive);
  const std::string whole = *ReadFile(path_);
  std::string shorter = whole;
  shorter.erase(kRecordFileMagic.size() + 3, 4);
  Write(shorter);
  EXPECT_EQ(Reopen(), Without(0));
  std::string longer = whole;
  longer.insert(kRecordFileMagic.size() + 3, std::string(100'000, '\0'));
  Write(longer);
  EXPECT_EQ(Reopen(), Without(0));
}

TEST_F(RecordFileTest, TheDamagedFileStaysBesideItAndThereAreThreeAtMost) {
  Append(kFive);
  const std::string whole = *ReadFile(path_);
  for (int time = 1; time <= 5; ++time) {
    std::string damaged = whole;
    damaged[kRecordFileMagic.size() + kRecordHeaderBytes] = static_cast<char>('0' + time);
    Write(damaged);
    Reopen();
    const std::string copy = path_ + ".damaged-" + std::to_string(std::min(time, 3));
    EXPECT_EQ(*ReadFile(copy), damaged) << copy;
  }
  EXPECT_EQ(ListDirectory(directory_.path())->size(), 4u);
}

TEST_F(RecordFileTest, ATornTailIsCutWithoutACopy) {
  Append(kFive);
  const std::string whole = *ReadFile(path_);
  Write(whole.substr(0, whole.size() - 1));
  EXPECT_EQ(Reopen(), Without(4));
  EXPECT_EQ(ListDirectory(directory_.path())->size(), 1u);
}

// After a crash, a file system may leave zeros in place of data that was not written.
TEST_F(RecordFileTest, ZerosAreNoRecords) {
  Append(kFive);
  Write(*ReadFile(path_) + std::string(4096, '\0'));
  EXPECT_EQ(Read(), kFive);
  EXPECT_EQ(Reopen(), kFive);
}

TEST_F(RecordFileTest, OpenedFromAPlaceItLeavesWhatIsBeforeIt) {
  Append(kFive);
  const uint64_t from = *FileSize(path_);
  Append({"sixth", "seventh", "eighth"});
  std::string bytes = *ReadFile(path_);
  bytes[kRecordFileMagic.size()] ^= 1;    // damages the first record, which is before `from`
  bytes[from + kRecordHeaderBytes] ^= 1;  // damages the sixth record
  Write(bytes);
  EXPECT_EQ(Reopen(from), (Records{"seventh", "eighth"}));
  EXPECT_EQ(*ReadFile(path_), bytes.substr(0, from) + bytes.substr(from + kRecordHeaderBytes + 5));
}

TEST_F(RecordFileTest, RefusesARecordThatCouldNotBeRead) {
  auto file = RecordFile::Open(path_, [](std::string_view) {});
  ASSERT_TRUE(file.ok());
  for (const size_t size : {size_t{0}, size_t{kRecordBytesMax} + 1}) {
    EXPECT_EQ(file->Append({"good", std::string(size, 'x')}).code(), StatusCode::kInvalidArgument);
  }
  ASSERT_TRUE(file->Append({std::string(kRecordBytesMax, 'x')}).ok());
  EXPECT_EQ(Read().size(), 1u);
}

// A reader reads while a batch is being written: the file ends inside the second record.
TEST_F(RecordFileTest, ARecordThatIsBeingWrittenIsReadLaterAndNotPassedOver) {
  Append({"one", "two", "three"});
  const std::string whole = *ReadFile(path_);
  const size_t cut = whole.find("two") + 1;
  Write(whole.substr(0, cut));
  Records found;
  const auto end = ReadRecords(path_, 0, [&](std::string_view payload) {
    found.emplace_back(payload);
    Write(whole);  // the rest is written meanwhile
    return true;
  });
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(found, Records{"one"});
  uint64_t offset = *end;
  EXPECT_EQ(Read(offset, 10), (Records{"two", "three"}));
}

}  // namespace
}  // namespace gp::coordinator
