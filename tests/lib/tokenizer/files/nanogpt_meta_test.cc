#include "tokenizer/files/nanogpt_meta.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"
#include "tokenizer/data/data_tokenizer.h"

namespace gp {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

// The pickle that nanoGPT's data/shakespeare_char/prepare.py writes for the text "\nabé":
// {'vocab_size', 'itos', 'stoi'}.
constexpr std::string_view kMeta =
    "80049553000000000000007d94288c0a766f6361625f73697a65944b048c0469746f73947d94284b008c010a"
    "944b018c0161944b028c0162944b038c02c3a994758c0473746f69947d942868044b0068054b0168064b0268"
    "074b0375752e";

class NanoGptMetaTest : public ::testing::Test {
 protected:
  std::string WriteText(const std::string& pickle) {
    EXPECT_TRUE(WriteFileAtomically(path_, pickle).ok());
    return path_;
  }
  std::string WriteMeta() {
    std::string bytes;
    for (size_t i = 0; i < kMeta.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(std::string(kMeta.substr(i, 2)), nullptr, 16));
    }
    return WriteText(bytes);
  }
  std::string ErrorOf(const std::string& pickle) {
    return Message(ReadNanoGptMeta(WriteText(pickle)).status());
  }

  TemporaryDirectory directory_;
  const std::string path_ = JoinPath(directory_.path(), "meta.pkl");
};

TEST_F(NanoGptMetaTest, GivesTheCharactersTheirIds) {
  const auto tokenizer = ReadNanoGptMeta(WriteMeta());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->vocabulary_size(), 4);
  EXPECT_EQ((*tokenizer)->Encode("é\nab").value(), (std::vector<int32_t>{3, 0, 1, 2}));
  EXPECT_EQ((*tokenizer)->Fingerprint(), CharTokenizer::FromText("\nabé").value()->Fingerprint());
}

TEST_F(NanoGptMetaTest, IsLookedForBesideTheFirstShard) {
  const std::string shard = JoinPath(directory_.path(), "train.bin");
  EXPECT_THAT(Message(MakeShardTokenizer("chars", shard).status()),
              HasSubstr(path_ + " does not exist; copy it there"));
  WriteMeta();
  EXPECT_EQ(MakeShardTokenizer("chars", shard).value()->vocabulary_size(), 4);
  EXPECT_EQ(MakeShardTokenizer("bytes", shard).value()->vocabulary_size(), 256);
}

TEST_F(NanoGptMetaTest, SaysWhatIsExpectedOfItsDictionary) {
  EXPECT_THAT(ErrorOf("K\x01."), HasSubstr("expected a dictionary with 'itos'"));
  EXPECT_THAT(ErrorOf("}."), HasSubstr("expected a dictionary with 'itos'"));
  EXPECT_THAT(ErrorOf("}X\x04\0\0\0itosK\x05s."s), HasSubstr("expected a dictionary"));
  const auto itos = [this](const std::string& entries) {
    return ErrorOf("}X\x04\0\0\0itos}("s + entries + "us.");
  };
  EXPECT_THAT(itos("I0\nVab\n"), HasSubstr("each id to one character"));
  EXPECT_THAT(itos("I0\nI1\n"), HasSubstr("each id to one character"));
  EXPECT_THAT(itos("Vx\nVa\n"), HasSubstr("each id to one character"));
  EXPECT_THAT(itos("I0\nVa\nI2\nVb\n"), HasSubstr("id 2 of 'itos' breaks the order"));
  EXPECT_THAT(itos("I-1\nVa\n"), HasSubstr("id -1"));
  EXPECT_THAT(itos("I0\nVa\nI0\nVb\n"), HasSubstr("id 0"));
  EXPECT_THAT(itos("I0\nVb\nI1\nVa\n"), HasSubstr("id 1"));
  EXPECT_THAT(itos("I0\nVb\nI1\nVb\n"), HasSubstr("id 1"));
  EXPECT_THAT(ErrorOf("cos\nsystem\n."), HasSubstr(path_ + ": byte 0"));
}

}  // namespace
}  // namespace gp
