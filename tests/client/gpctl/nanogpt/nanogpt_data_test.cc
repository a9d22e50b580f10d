// Goal: the data is found where nanoGPT would look for it, and what is missing comes with the
// command that makes it.
#include "client/gpctl/nanogpt/nanogpt_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::gpctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NanogptDataTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return JoinPath(directory_.path(), name); }
  void Write(const std::string& name, const std::string& text = "x") {
    ASSERT_TRUE(MakeDirectories(DirectoryOf(Path(name)), 0700).ok());
    ASSERT_TRUE(WriteFileAtomically(Path(name), text).ok());
  }
  NanogptData Find(const std::string& dataset, const std::string& config = "config/a.py") {
    return FindNanogptData(Path(config), dataset, Path("elsewhere"));
  }

  TemporaryDirectory directory_;
};

TEST_F(NanogptDataTest, TokensAreTakenWithTheTokenizerThatMadeThem) {
  Write("data/shakespeare_char/train.bin");
  Write("data/shakespeare_char/val.bin");
  Write("data/shakespeare_char/meta.pkl");
  const NanogptData chars = Find("shakespeare_char");
  EXPECT_TRUE(chars.found);
  EXPECT_EQ(chars.train, Path("data/shakespeare_char/train.bin"));
  EXPECT_EQ(chars.val, Path("data/shakespeare_char/val.bin"));
  EXPECT_EQ(chars.tokenizer, "chars");
  EXPECT_THAT(chars.notes, IsEmpty());
  Write("data/owt/train.bin");
  const NanogptData tokens = Find("owt");
  EXPECT_EQ(tokens.tokenizer, "gpt2");
  EXPECT_EQ(tokens.val, "");
  EXPECT_THAT(tokens.notes,
              ElementsAre(HasSubstr("has no val.bin, so there is no validation loss")));
}

TEST_F(NanogptDataTest, TextIsTakenWhenThereAreNoTokens) {
  Write("data/shakespeare_char/input.txt");
  const NanogptData chars = Find("shakespeare_char");
  EXPECT_TRUE(chars.found);
  EXPECT_EQ(chars.text, Path("data/shakespeare_char/input.txt"));
  EXPECT_EQ(chars.train, "");
  EXPECT_EQ(chars.tokenizer, "chars");
  Write("data/mine/input.txt");
  Write("data/mine/prepare.py", "import tiktoken\n");
  EXPECT_EQ(Find("mine").tokenizer, "gpt2");
  Write("data/mine/prepare.py", "chars = sorted(set(text))\n");
  EXPECT_EQ(Find("mine").tokenizer, "chars");
}

TEST_F(NanogptDataTest, MissingDataComesWithItsCommand) {
  Write("data/openwebtext/prepare.py", "import tiktoken\n");
  const NanogptData unprepared = Find("openwebtext");
  EXPECT_FALSE(unprepared.found);
  EXPECT_EQ(unprepared.train, Path("data/openwebtext/train.bin"));
  EXPECT_THAT(unprepared.notes,
              ElementsAre(HasSubstr("python3 " + Path("data/openwebtext/prepare.py"))));
  const NanogptData unknown = Find("none");
  EXPECT_FALSE(unknown.found);
  EXPECT_EQ(unknown.train, Path("data/none/train.bin"));
  EXPECT_THAT(unknown.notes,
              ElementsAre(HasSubstr("gpctl data prepare TEXT --format nanogpt --out " +
                                    Path("data/none"))));
}

TEST_F(NanogptDataTest, TheFolderMayBeBesideTheFileOrInTheWorkingDirectory) {
  Write("elsewhere/data/one/input.txt");
  EXPECT_EQ(Find("one").text, Path("elsewhere/data/one/input.txt"));
  Write("config/data/one/input.txt");
  EXPECT_EQ(Find("one").text, Path("config/data/one/input.txt"));
  Write("data/one/input.txt");
  EXPECT_EQ(Find("one").text, Path("data/one/input.txt"));
  EXPECT_EQ(Find(Path("elsewhere/data/one")).text, Path("elsewhere/data/one/input.txt"));
}

TEST_F(NanogptDataTest, WeightsAreFoundInTheCacheOfHuggingFace) {
  std::istringstream in;
  std::ostringstream out, err;
  client::Interruption interruption;
  Console console{in, out, err, interruption, SystemClock(), {}, "", Path("here")};
  console.environment["HOME"] = Path("home");
  const NanogptWeights missing = FindNanogptWeights(Path("config/a.py"), "gpt2-xl", console);
  EXPECT_FALSE(missing.found);
  EXPECT_EQ(missing.directory, Path("here/gpt2-xl"));
  EXPECT_THAT(missing.note, HasSubstr("openai-community/gpt2-xl"));
  const std::string cached =
      "home/.cache/huggingface/hub/models--openai-community--gpt2-xl/snapshots/abc";
  Write(cached + "/config.json");
  EXPECT_FALSE(FindNanogptWeights(Path("config/a.py"), "gpt2-xl", console).found);
  Write(cached + "/model.safetensors");
  EXPECT_EQ(FindNanogptWeights(Path("config/a.py"), "gpt2-xl", console).directory, Path(cached));
  Write("gpt2-xl/config.json");
  EXPECT_EQ(FindNanogptWeights(Path("config/a.py"), "gpt2-xl", console).directory, Path("gpt2-xl"));
}

}  // namespace
}  // namespace gp::gpctl
