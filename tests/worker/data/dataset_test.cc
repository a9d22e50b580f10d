#include "worker/data/dataset.h"

#include <gmock/gmock.h>

#include "worker/data/data_fixture.h"

namespace gp::engine {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kPackedText = "To learn from text that is packed, unpack it.\n";

// The text compressed with gzip.
std::string PackedText() {
  constexpr std::string_view kHex =
      "1f8b08000000000002030bc957c8494d2cca53482bcacf552849ad285128c9482c51c82c5628484cce4e"
      "4dd15128cd03b114324bf4b800d9f40d282e000000";
  std::string bytes;
  for (size_t i = 0; i < kHex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(kHex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

class DatasetTest : public DataTest {
 protected:
  static runspec::RunSpec TextSpec(const std::vector<std::string>& text,
                                   const std::string& tokenizer) {
    runspec::RunSpec spec;
    spec.data.text = text;
    spec.data.tokenizer = tokenizer;
    return spec;
  }

  static std::vector<int32_t> All(const TokenSource& source) {
    std::vector<int32_t> tokens(static_cast<size_t>(source.size()));
    EXPECT_TRUE(source.Read(0, tokens).ok());
    return tokens;
  }

  static std::string ErrorOf(const runspec::RunSpec& spec) {
    const auto dataset = OpenDataset(spec);
    EXPECT_FALSE(dataset.ok());
    return dataset.ok() ? "" : Message(dataset.status());
  }
};

TEST_F(DatasetTest, SplitsTextFromItsEndAsNanoGptDoes) {
  const std::string path = Write("a.txt", std::string(1'115'394, 'x'));
  const auto dataset = OpenDataset(TextSpec({path}, "chars"));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->train->size(), 1'003'854);
  EXPECT_EQ(dataset->validation->size(), 111'540);
  EXPECT_EQ(dataset->tokenizer->vocabulary_size(), 1);
  EXPECT_THAT(dataset->description, HasSubstr("1,003,854"));
}

TEST_F(DatasetTest, ATokenizerComesFromAFile) {
  const std::string path = Write("a.txt", "hello hello hello hello");
  const auto dataset = OpenDataset(TextSpec({path}, Write("vocab.bpe", "l l\nh e\n")));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->tokenizer->kind(), "bpe");
  EXPECT_EQ(dataset->tokenizer->vocabulary_size(), 259);
  // The same text encoded by another tokenizer counts as other data.
  const auto other = OpenDataset(TextSpec({path}, Write("vocab.bpe", "l l\n")));
  EXPECT_NE(other->fingerprint, dataset->fingerprint);
}

TEST_F(DatasetTest, AStringDividesATextIntoDocuments) {
  const std::string path = Write("a.txt", "ab<|endoftext|>cd<|endoftext|>\n");
  auto spec = TextSpec({path}, Write("vocab.bpe", "l l\n"));
  spec.data.val_fraction = 0;
  const auto whole = OpenDataset(spec);
  spec.data.split_on = "<|endoftext|>";
  const auto divided = OpenDataset(spec);
  ASSERT_TRUE(divided.ok()) << divided.status();
  EXPECT_EQ(divided->tokenizer->Decode(All(*divided->train)), "<|endoftext|>ab<|endoftext|>cd");
  EXPECT_EQ(divided->train->size(), 6);
  EXPECT_NE(divided->fingerprint, whole->fingerprint);
  spec.data.tokenizer = "bytes";
  EXPECT_THAT(ErrorOf(spec), HasSubstr("data.split_on: the tokenizer has no end-of-text token"));
}

TEST_F(DatasetTest, JoinsTextsInOrderAndSortsGlobs) {
  Write("b.txt", "bbb");
  Write("a.txt", "aaa");
  const std::string last = Write("z", "zzzz");
  auto spec = TextSpec({JoinPath(directory_.path(), "*.txt"), last}, "bytes");
  spec.data.val_fraction = 0;
  const auto dataset = OpenDataset(spec);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->tokenizer->Decode(All(*dataset->train)), "aaabbbzzzz");
  EXPECT_EQ(dataset->validation, nullptr);
}

TEST(TokenSource, TellsTheBytesOfATokenWhereItIsReadFrom) {
  EXPECT_EQ(MakeMemoryTokens({1, 65535})->token_bytes(), 2);
  EXPECT_EQ(MakeMemoryTokens({1, 65536})->token_bytes(), 4);
}

TEST_F(DatasetTest, FingerprintFollowsDataTokenizerAndSplit) {
  const std::string a = Write("a.txt", "some text to learn from"),
                    b = Write("b.txt", "another text");
  const auto of = [](const runspec::RunSpec& spec) { return OpenDataset(spec)->fingerprint; };
  auto spec = TextSpec({a}, "chars");
  const std::string fingerprint = of(spec);
  EXPECT_EQ(of(spec), fingerprint);
  EXPECT_NE(of(TextSpec({b}, "chars")), fingerprint);
  EXPECT_NE(of(TextSpec({a}, "bytes")), fingerprint);
  spec.data.val_fraction = 0.2;
  EXPECT_NE(of(spec), fingerprint);
}

TEST_F(DatasetTest, ReadsAcrossShards) {
  runspec::RunSpec spec;
  spec.data.train = {WriteShard("0.bin", 0, 5, 256), WriteShard("1.bin", 5, 1, 256),
                     WriteShard("2.bin", 6, 4, 256)};
  spec.data.val = {WriteShard("v.bin", 100, 3, 256)};
  const auto dataset = OpenDataset(spec);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(All(*dataset->train), (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(dataset->train->parts(), (std::vector<int64_t>{5, 1, 4}));
  std::vector<int32_t> middle(4);
  ASSERT_TRUE(dataset->train->Read(3, middle).ok());
  EXPECT_EQ(middle, (std::vector<int32_t>{3, 4, 5, 6}));
  EXPECT_EQ(dataset->validation->size(), 3);
}

TEST_F(DatasetTest, NamesTheFileAndTheWayOut) {
  const std::string missing = JoinPath(directory_.path(), "missing.txt");
  EXPECT_THAT(ErrorOf(TextSpec({missing}, "chars")),
              HasSubstr(missing +
                        " does not exist; put it there or mount its file system, or name another"));
  EXPECT_THAT(ErrorOf(TextSpec({missing + "*"}, "chars")), HasSubstr("no file matches"));
  EXPECT_THAT(ErrorOf(TextSpec({directory_.path()}, "chars")), HasSubstr("is a directory"));
  EXPECT_THAT(ErrorOf(TextSpec({Write("empty.txt", "")}, "chars")),
              HasSubstr("empty.txt is empty"));
  EXPECT_THAT(ErrorOf(TextSpec({Write("bad.txt", "ok \xff no")}, "chars")), HasSubstr("offset 3"));
  EXPECT_THAT(ErrorOf(TextSpec({Write("a.gz", "\x1f\x8b\x08 and more")}, "bytes")),
              HasSubstr("a.gz is damaged near byte"));
  EXPECT_THAT(ErrorOf(TextSpec({Write("a.xz", std::string("\xfd"
                                                          "7zXZ\0more",
                                                          10))},
                               "bytes")),
              HasSubstr("a.xz is compressed by xz, expected text; unpack it: xz -dk"));
  EXPECT_THAT(ErrorOf(TextSpec({Write("short.txt", "ab")}, "chars")), HasSubstr("too few"));
}

TEST_F(DatasetTest, ReadsPackedTextAsItsText) {
  const std::string packed = Write("a.gz", PackedText());
  const auto dataset = OpenDataset(TextSpec({packed}, "chars"));
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->tokenizer->Decode(All(*dataset->train)) +
                dataset->tokenizer->Decode(All(*dataset->validation)),
            kPackedText);
  const std::string plain = Write("a.txt", std::string(kPackedText));
  EXPECT_EQ(dataset->fingerprint, OpenDataset(TextSpec({plain}, "chars"))->fingerprint);
}

TEST_F(DatasetTest, ReadsTheCharactersOfShardsFromNanoGptsMeta) {
  runspec::RunSpec spec;
  spec.data.train = {WriteShard("train.bin", 0, 12, 3)};
  spec.data.tokenizer = "chars";
  EXPECT_THAT(ErrorOf(spec), HasSubstr("meta.pkl does not exist"));
  Write("meta.pkl", "(dVitos\n(dI0\nVa\nsI1\nVb\nsI2\nVc\nss.");
  const auto dataset = OpenDataset(spec);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->tokenizer->vocabulary_size(), 3);
  EXPECT_EQ(dataset->tokenizer->Decode(All(*dataset->train)), "abcabcabcabc");
  spec.data.train = {WriteShard("train.bin", 0, 12, 4)};
  EXPECT_THAT(ErrorOf(spec), HasSubstr("token 3 at position 3 is not below the vocabulary of 3"));
}

TEST_F(DatasetTest, RefusesShardsThatAreDamagedOrOfAnotherVocabulary) {
  runspec::RunSpec spec;
  const std::string good = WriteShard("good.bin", 0, 100, 256);
  spec.data.train = {Write("cut.bin", ReadFile(good)->substr(0, 1100))};
  EXPECT_THAT(ErrorOf(spec), HasSubstr("declares 100 tokens"));
  spec.data.train = {WriteShard("large.bin", 250, 10, 1000)};
  EXPECT_THAT(ErrorOf(spec),
              HasSubstr("token 256 at position 6 is not below the vocabulary of 256"));
  spec.vocabulary_auto = false;
  spec.model.vocabulary = 1000;
  EXPECT_TRUE(OpenDataset(spec).ok());
}

}  // namespace
}  // namespace gp::engine
