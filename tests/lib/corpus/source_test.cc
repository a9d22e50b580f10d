#include "corpus/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/temporary_directory.h"
#include "lib/corpus/corpus_text.h"

namespace gp::corpus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SourceTest : public ::testing::Test {
 protected:
  std::string File(const std::string& name) {
    const std::string path = directory_.File(name);
    EXPECT_TRUE(MakeDirectories(DirectoryOf(path)).ok());
    return Write(path, "text");
  }
  std::vector<std::string> Paths(const std::vector<std::string>& arguments) {
    const auto sources = ExpandSources(arguments);
    EXPECT_TRUE(sources.ok()) << sources.status();
    std::vector<std::string> paths;
    for (const Source& source : sources.value_or(std::vector<Source>()))
      paths.push_back(source.path);
    return paths;
  }

  TemporaryDirectory directory_;
};

TEST_F(SourceTest, TakesTheTextFilesBelowADirectoryInTheOrderOfTheirNames) {
  const std::string b = File("d/b.txt"), a = File("d/sub/a.jsonl.zst"), c = File("d/c.json.gz");
  File("d/readme.md");
  File("d/.hidden/x.txt");
  File("d/.y.txt");
  EXPECT_THAT(Paths({directory_.File("d")}), ElementsAre(b, c, a));
}

TEST_F(SourceTest, KeepsTheOrderOfTheArgumentsAndSortsWithinOne) {
  const std::string b = File("b.txt"), a = File("a.txt"), other = File("other.jsonl");
  EXPECT_THAT(Paths({"-", other, directory_.File("?.txt")}), ElementsAre("-", other, a, b));
}

TEST_F(SourceTest, TheNameTellsTheFormUnlessTheUserDoes) {
  File("a.jsonl.gz");
  EXPECT_EQ(ExpandSources({directory_.File("a.jsonl.gz")})->front().form, TextForm::kJsonLines);
  EXPECT_EQ(ExpandSources({directory_.File("a.jsonl.gz")}, TextForm::kText)->front().form,
            TextForm::kText);
  EXPECT_EQ(ExpandSources({"-"})->front().form, TextForm::kText);
}

TEST_F(SourceTest, ALinkToADirectoryAboveItIsNotFollowed) {
  const std::string a = File("d/a.txt");
  ASSERT_EQ(symlink("..", directory_.File("d/up").c_str()), 0);
  ASSERT_EQ(symlink("loop", directory_.File("d/loop").c_str()), 0);
  EXPECT_THAT(Paths({directory_.File("d")}), ElementsAre(a));
}

TEST_F(SourceTest, NamesWhatCannotBeRead) {
  const std::string missing = directory_.File("missing.txt");
  EXPECT_THAT(Message(ExpandSources({missing}).status()), HasSubstr(missing + " does not exist"));
  EXPECT_EQ(ExpandSources({directory_.File("*.txt")}).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(ExpandSources({directory_.path()}).status()),
              HasSubstr("holds no file named"));
  const std::string pipe = directory_.File("pipe.txt");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(Message(ExpandSources({pipe}).status()), HasSubstr("not a regular file"));
}

TEST_F(SourceTest, ATextThatALinkDoesNotReachIsNotLeftOut) {
  File("d/a.txt");
  ASSERT_EQ(symlink("gone", directory_.File("d/b.txt").c_str()), 0);
  EXPECT_THAT(Message(ExpandSources({directory_.File("d")}).status()), HasSubstr("d/b.txt"));
}

TEST_F(SourceTest, SaysWhatOfADirectoryIsLeftOut) {
  File("d/a.txt");
  const std::string parquet = File("d/data/0.parquet");
  File("d/e.md");
  File("d/.git/x");
  File("texts/a.txt");
  ASSERT_EQ(symlink("loop", directory_.File("texts/loop").c_str()), 0);
  const auto sentences = DescribeLeftOut({directory_.File("d"), directory_.File("texts"), "-"});
  ASSERT_TRUE(sentences.ok()) << sentences.status();
  EXPECT_THAT(*sentences, ElementsAre(HasSubstr(directory_.File("d") + ": skipped 2 of 3 files, " +
                                                "for example " + parquet)));
}

TEST_F(SourceTest, TheSameFileTwiceIsRefused) {
  const std::string a = File("a.txt");
  const auto sources = ExpandSources({a, directory_.File("*.txt")});
  EXPECT_EQ(sources.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(sources.status()), HasSubstr("given twice"));
}

}  // namespace
}  // namespace gp::corpus
