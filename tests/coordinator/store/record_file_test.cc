// Goal: records come back whole and in order, whatever their sizes and wherever a reader begins,
// and a write that failed leaves nothing behind.
#include "coordinator/store/record_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "coordinator/temporary_directory.h"

namespace gp::coordinator {
namespace {

using Records = std::vector<std::string>;

// While it lives, no file of this process may grow beyond `bytes`: a full disk.
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

  // At most `count_max` records from `offset` on, which moves behind them.
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

  TemporaryDirectory directory_;
  const std::string path_ = JoinPath(directory_.path(), "file.log");
};

// More than a reader takes at once, and sizes that fall on no boundary.
Records ManyRecords() {
  Records records;
  for (size_t i = 0; i < 400; ++i) {
    records.emplace_back(i * 37 % 2003, static_cast<char>('a' + i % 26));
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

}  // namespace
}  // namespace gp::coordinator
