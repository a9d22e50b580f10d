// Kills a preparation at each of its steps. A process reads GP_FAILPOINT only once, so every
// preparation runs in a child process.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "corpus/preparation.h"
#include "lib/base/temporary_directory.h"
#include "lib/corpus/prepared_files.h"
#include "tokenizer/byte_pair_tokenizer.h"

namespace gp::corpus {
namespace {

enum class End { kDone, kKilled, kFailed };

// Runs the preparation in a child process, which dies at the failpoint.
End Prepare(const std::string& failpoint, const Tokenizer& tokenizer,
            const PreparationOptions& options) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("GP_FAILPOINT", failpoint.c_str(), 1);
    _exit(PrepareDataset(tokenizer, options).ok() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return End::kKilled;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? End::kDone : End::kFailed;
}

class PreparationKill : public ::testing::TestWithParam<formats::ShardFormat> {};

TEST_P(PreparationKill, AtAnyStepEndsWithTheSameShards) {
  const auto tokenizer = BytePairTokenizer::InstalledGpt2();
  if (!tokenizer.ok()) GTEST_SKIP() << tokenizer.status();
  TemporaryDirectory directory;
  PreparationOptions options{.sources = WriteCorpus(directory.path())};
  options.documents.split = Split::kLine;
  options.format = GetParam();
  options.directory = directory.File("data");
  options.shard_tokens = 200'000;
  options.threads = 2;
  options.interval = std::chrono::milliseconds(0);
  ASSERT_EQ(Prepare("", **tokenizer, options), End::kDone);
  const Files expected = FilesOf(options.directory);
  ASSERT_TRUE(RemoveTree(options.directory).ok());
  // The first kills come before any progress, later ones after one or two blocks, and the last ones
  // at the end.
  for (const char* place :
       {"prepare.after_sync:kill", "prepare.after_save:kill", "prepare.after_sync:kill@2",
        "prepare.after_save:kill@3", "prepare.after_sync:kill@3", "prepare.after_save:kill@2",
        "prepare.before_finish:kill", "prepare.after_finish:kill", "prepare.before_end:kill",
        "prepare.before_end:kill"}) {
    EXPECT_EQ(Prepare(place, **tokenizer, options), End::kKilled) << place;
  }
  ASSERT_EQ(Prepare("", **tokenizer, options), End::kDone);
  EXPECT_TRUE(FilesOf(options.directory) == expected);
}

INSTANTIATE_TEST_SUITE_P(Formats, PreparationKill,
                         ::testing::Values(formats::ShardFormat::kLlmC, formats::ShardFormat::kNpy,
                                           formats::ShardFormat::kRaw));

}  // namespace
}  // namespace gp::corpus
