#include "tokenizer/files/tokenizer_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "lib/base/temporary_directory.h"
#include "lib/tokenizer/small_tokenizer.h"
#include "tokenizer/byte_pair_tokenizer.h"
#include "tokenizer/files/hugging_face_tokenizer.h"
#include "tokenizer/gpt2_vocabulary.h"

namespace gp {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class TokenizerFileTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = JoinPath(directory_.path(), name);
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return path;
  }

  std::unique_ptr<Tokenizer> Read(const std::string& path) {
    auto tokenizer = ReadTokenizer(path);
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
    return tokenizer.ok() ? std::move(*tokenizer) : nullptr;
  }

  std::string Error(const std::string& path) { return Message(ReadTokenizer(path).status()); }

  // The error for the small tokenizer.json after `change`.
  std::string ErrorAfter(const std::function<void(Json&)>& change) {
    Json document = SmallTokenizerJson();
    change(document);
    return Error(Write("tokenizer.json", document.dump()));
  }

  const std::unique_ptr<BytePairTokenizer> expected_ = *BytePairTokenizer::FromMerges(kSmallMerges);
  TemporaryDirectory directory_;
};

TEST_F(TokenizerFileTest, EveryFormGivesTheSameTokenizer) {
  const std::string digest = expected_->Fingerprint();
  const std::string document = Write("tokenizer.json", SmallTokenizerJson().dump());
  const std::string vocab = Write("vocab.json", SmallVocab().dump());
  const std::string merges = Write("merges.txt", kSmallMerges);
  const std::string bpe = Write("vocab.bpe", kSmallMerges);
  EXPECT_EQ(Read(bpe)->Fingerprint(), digest);  // without any other file
  const std::string encoder = Write("encoder.json", SmallVocab().dump());
  for (const std::string& path : {document, vocab, merges, bpe, encoder}) {
    EXPECT_EQ(Read(path)->Fingerprint(), digest) << path;
    EXPECT_EQ(Read(path)->kind(), "bpe");
    EXPECT_EQ(Read(path)->end_of_text(), 261);
  }
}

TEST_F(TokenizerFileTest, APrefixMayStandBeforeTheNames) {
  Write("small-vocab.json", SmallVocab().dump());
  EXPECT_EQ(Read(Write("small-merges.txt", kSmallMerges))->Fingerprint(), expected_->Fingerprint());
}

TEST_F(TokenizerFileTest, ADirectoryIsReadByItsBestForm) {
  EXPECT_THAT(Error(directory_.path()),
              AllOf(HasSubstr("has no tokenizer"), HasSubstr("merges.txt")));
  Write("vocab.bpe", "h e\n");
  EXPECT_EQ(Read(directory_.path())->vocabulary_size(), 258);
  Write("vocab.json", SmallVocab().dump());
  EXPECT_THAT(Error(directory_.path()),
              HasSubstr("merges.txt does not exist; vocab.json needs it"));
  Write("merges.txt", kSmallMerges);
  EXPECT_EQ(Read(directory_.path())->vocabulary_size(), 262);
  Json document = SmallTokenizerJson();
  document["model"]["vocab"]["<pad>"] = 262;
  Write("tokenizer.json", document.dump());
  EXPECT_EQ(Read(directory_.path())->vocabulary_size(), 263);
}

TEST_F(TokenizerFileTest, CheckpointsFormIsRead) {
  EXPECT_EQ(Read(Write("a.json", R"({"kind":"bytes"})"))->kind(), "bytes");
  EXPECT_EQ(Read(Write("b.json", expected_->Serialized()))->Fingerprint(),
            expected_->Fingerprint());
}

TEST_F(TokenizerFileTest, IdsAreTheFilesOwn) {
  Json document = SmallTokenizerJson();
  Json& vocab = document["model"]["vocab"];
  vocab = SmallVocab(1);
  vocab["<|endoftext|>"] = 0;
  document["added_tokens"][0]["id"] = 0;
  const auto tokenizer = Read(Write("tokenizer.json", document.dump()));
  EXPECT_EQ(tokenizer->end_of_text(), 0);
  EXPECT_THAT(*tokenizer->Encode("hello w!"), ElementsAre(261, 260, 1));
  EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{0, 261}), "<|endoftext|>hello");
  EXPECT_EQ((*ParseTokenizer(tokenizer->Serialized()))->Fingerprint(), tokenizer->Fingerprint());
}

TEST_F(TokenizerFileTest, MergesArePairsOrText) {
  Json document = SmallTokenizerJson();
  document["model"]["merges"] =
      Json::array({{"h", "e"}, {"l", "l"}, {"he", "ll"}, {"Ġ", "w"}, {"hell", "o"}});
  document["model"].erase("type");  // old files do not have this key
  EXPECT_EQ(Read(Write("tokenizer.json", document.dump()))->Fingerprint(),
            expected_->Fingerprint());
}

// Two merges can produce the same token. A token that its merges do not produce is found only if
// ignore_merges is true and a whole piece of text equals it.
TEST_F(TokenizerFileTest, TheOrderOfTheMergesDecides) {
  Json document = SmallTokenizerJson();
  document["model"]["merges"] = {"l l", "Ġ w", "e ll", "h e", "he ll", "h ell", "hell o"};
  document["model"]["vocab"]["ell"] = 262;
  const auto tokenizer = Read(Write("tokenizer.json", document.dump()));
  EXPECT_THAT(*tokenizer->Encode("hello"), ElementsAre(260));
  document["model"]["merges"] = {"l l", "Ġ w", "e ll", "h e", "he ll", "hell o"};
  EXPECT_THAT(*Read(Write("tokenizer.json", document.dump()))->Encode("hello"),
              ElementsAre('h' - '!', 262, 'o' - '!'));
  document["model"]["ignore_merges"] = true;
  EXPECT_THAT(*Read(Write("tokenizer.json", document.dump()))->Encode("hello"), ElementsAre(260));
}

TEST_F(TokenizerFileTest, WhatGpWouldDoOtherwiseIsRefusedByItsKey) {
  const auto set = [this](const char* pointer, const Json& value) {
    return ErrorAfter([&](Json& document) { document[Json::json_pointer(pointer)] = value; });
  };
  EXPECT_THAT(set("/normalizer", {{"type", "NFC"}}), HasSubstr("normalizer is {\"type\":\"NFC\"}"));
  EXPECT_THAT(set("/pre_tokenizer", {{"type", "Whitespace"}}), HasSubstr("pre_tokenizer is"));
  EXPECT_THAT(set("/pre_tokenizer", nullptr), HasSubstr("pre_tokenizer is null"));
  EXPECT_THAT(set("/pre_tokenizer/add_prefix_space", true),
              HasSubstr("pre_tokenizer.add_prefix_space is true"));
  EXPECT_THAT(set("/pre_tokenizer/use_regex", false),
              HasSubstr("pre_tokenizer.use_regex is false"));
  EXPECT_THAT(set("/post_processor", {{"type", "TemplateProcessing"}}),
              HasSubstr("post_processor.single is null"));
  EXPECT_THAT(set("/decoder", {{"type", "WordPiece"}}), HasSubstr("decoder is"));
  EXPECT_THAT(set("/model/type", "WordPiece"), HasSubstr("model.type is \"WordPiece\""));
  EXPECT_THAT(set("/model/dropout", 0.1), HasSubstr("model.dropout is 0.1"));
  EXPECT_THAT(set("/model/end_of_word_suffix", "</w>"), HasSubstr("model.end_of_word_suffix is"));
  EXPECT_THAT(set("/added_tokens/0/special", false),
              HasSubstr("added_tokens[0]: '<|endoftext|>' is not special"));
}

// transformers and tokenizers leave these settings in files that they save, but a plain call
// ignores them. Case models-and-data/15: tokenizers were refused because of settings that change no
// ids.
TEST_F(TokenizerFileTest, WhatChangesNoIdsGivesTheSameTokenizer) {
  const Json nothing = Json::parse(R"({"type": "TemplateProcessing",
      "single": [{"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
      "special_tokens": {}})");
  const std::pair<const char*, Json> changes[] = {
      {"/truncation", {{"max_length", 16}, {"strategy", "LongestFirst"}, {"stride", 0}}},
      {"/padding", {{"strategy", {{"Fixed", 16}}}, {"pad_id", 261}}},
      {"/post_processor", nullptr},
      {"/post_processor", nothing},
      {"/post_processor",
       {{"type", "Sequence"}, {"processors", std::vector<Json>{{{"type", "ByteLevel"}}, nothing}}}},
      {"/decoder", nullptr},
      {"/decoder", {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", false}}},
      {"/normalizer", {{"type", "Sequence"}, {"normalizers", Json::array()}}},
      {"/model/byte_fallback", true},
      {"/model/fuse_unk", true},
      {"/model/ignore_merges", false},
      {"/added_tokens/0/normalized", true},
      {"/added_tokens/0/lstrip", true},
  };
  for (const auto& [pointer, value] : changes) {
    Json document = SmallTokenizerJson();
    document[Json::json_pointer(pointer)] = value;
    const auto tokenizer = Read(Write("tokenizer.json", document.dump()));
    ASSERT_NE(tokenizer, nullptr) << pointer;
    EXPECT_EQ(tokenizer->Fingerprint(), expected_->Fingerprint()) << pointer << " " << value;
  }
}

// No merges produce these tokens. A piece of text that equals one becomes that token, unless the
// file lists the token as special. "<so>" is never a piece, so its brackets make it special.
TEST_F(TokenizerFileTest, WholePiecesAreTokensWhateverTheirBrackets) {
  Json document = SmallTokenizerJson();
  document["model"]["ignore_merges"] = true;
  document["model"]["vocab"]["<=>"] = 262;
  document["model"]["vocab"]["<so>"] = 263;
  const auto tokenizer = Read(Write("tokenizer.json", document.dump()));
  EXPECT_THAT(*tokenizer->Encode("a<=>b"), ElementsAre('a' - '!', 262, 'b' - '!'));
  EXPECT_THAT(*tokenizer->Encode("<so>"), ElementsAre('<' - '!', 's' - '!', 'o' - '!', '>' - '!'));
  document["added_tokens"].push_back({{"id", 262}, {"content", "<=>"}, {"special", true}});
  EXPECT_THAT(*Read(Write("tokenizer.json", document.dump()))->Encode("<=>"),
              ElementsAre('<' - '!', '=' - '!', '>' - '!'));
}

// Hugging Face would cut such a token out of every text.
TEST_F(TokenizerFileTest, ATokenOfOrdinaryTextIsNotMadeSpecial) {
  const auto special = [this](const char* text, int64_t id) {
    return ErrorAfter([&](Json& document) {
      document["added_tokens"].push_back({{"id", id}, {"content", text}, {"special", true}});
    });
  };
  EXPECT_THAT(special("!", 0), HasSubstr("the token of the byte 0x21 ('!') is a special token"));
  EXPECT_THAT(special("he", 256), AllOf(HasSubstr("makes 'he', which is a special token"),
                                        HasSubstr("make another token the special one")));
}

TEST_F(TokenizerFileTest, DamageIsNamedWithItsFileAndPlace) {
  const auto set = [this](const char* pointer, const Json& value) {
    return ErrorAfter([&](Json& document) { document[Json::json_pointer(pointer)] = value; });
  };
  EXPECT_THAT(set("/model/vocab/he", 255), AllOf(HasSubstr("tokenizer.json: model.vocab: "),
                                                 HasSubstr("the id 255 is given twice")));
  EXPECT_THAT(set("/model/vocab/he", 600), HasSubstr("the id 600 of 'he' is not below"));
  EXPECT_THAT(set("/model/vocab/he", -1), HasSubstr("the id of 'he' is -1"));
  EXPECT_THAT(set("/model/vocab/he", "x"), HasSubstr("the id of 'he' is \"x\""));
  EXPECT_THAT(
      set("/model/merges/4", "hellx o"),
      HasSubstr(
          "model.merges[4]: the merge \"hellx o\" joins 'hellx', which is not in the vocabulary"));
  EXPECT_THAT(set("/model/merges/1", "h e"),
              HasSubstr("model.merges[1]: the merge \"h e\" occurs twice"));
  EXPECT_THAT(set("/model/merges/1", "x y"), HasSubstr("makes 'xy', which has no id"));
  EXPECT_THAT(set("/model/merges/1", "x"), HasSubstr("is not two tokens"));
  EXPECT_THAT(set("/model/merges/1", 7), HasSubstr("the merge 7 is not two tokens"));
  EXPECT_THAT(set("/model/merges", {"h e", "l l"}), HasSubstr("no merge makes the token"));
  EXPECT_THAT(set("/model/vocab", 7), HasSubstr("model.vocab is missing"));
  EXPECT_THAT(set("/added_tokens/0/id", 7),
              HasSubstr("'<|endoftext|>' has the id 7, expected 261"));
  EXPECT_THAT(ErrorAfter([](Json& document) { document["model"]["vocab"].erase("a"); }),
              HasSubstr("no token has the id"));
  EXPECT_THAT(ErrorAfter([](Json& document) {
                document["model"]["vocab"].erase("ł");
                document["model"]["vocab"]["<x>"] = SmallVocab()["ł"];
              }),
              HasSubstr("has no token: a byte-level BPE needs all 256"));
}

TEST_F(TokenizerFileTest, AFileOfAnotherKindIsNamed) {
  const std::string path = directory_.File("tokenizer.json");
  ASSERT_TRUE(WriteFileAtomically(
                  path, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n")
                  .ok());
  EXPECT_THAT(Message(ReadTokenizer(path).status()),
              HasSubstr("tokenizer.json is a Git LFS pointer and not the file itself, expected a "
                        "tokenizer; fetch the file: git lfs pull"));
}

TEST_F(TokenizerFileTest, TextInAnotherEncodingIsNamedWithTheCommand) {
  for (const char* name : {"tokenizer.json", "vocab.bpe", "a.tiktoken", "a.json"}) {
    const std::string path = Write(name, std::string("{\0\"\0m\0", 6));
    EXPECT_THAT(Error(path), HasSubstr("is text in UTF-16LE, expected a tokenizer; convert it: "
                                       "iconv -f UTF-16LE -t UTF-8 " +
                                       path));
  }
}

TEST_F(TokenizerFileTest, JsonIsReadStrictly) {
  EXPECT_THAT(Error(Write("a.json", "\xef\xbb\xbf{}")),
              HasSubstr("a.json: offset 0: begins with a byte order mark"));
  EXPECT_THAT(Error(Write("a.json", R"({"model":{"vocab":{"a":0,"a":1}}})")),
              HasSubstr("the key 'a' occurs twice"));
  EXPECT_THAT(Error(Write("a.json", "{\"model\": \"\xff\"}")),
              HasSubstr("offset 11: this is not JSON"));
  EXPECT_THAT(Error(Write("a.json", "{" + std::string(100'000, '['))),
              HasSubstr("this is not JSON"));
  EXPECT_THAT(Error(Write("a.json", "{\"a\":" + std::string(100'000, '['))),
              HasSubstr("cut short"));
  EXPECT_THAT(Error(Write("a.json", "")), HasSubstr("the file is empty"));
  EXPECT_THAT(Error(Write("a.json", "hello")), HasSubstr("this is not a tokenizer: expected"));
  EXPECT_THAT(Error(Write("a.json", "{}")),
              HasSubstr("neither Hugging Face's 'model' nor gp's 'kind'"));
  EXPECT_THAT(Error(JoinPath(directory_.path(), "none.json")), HasSubstr("none.json"));
}

TEST_F(TokenizerFileTest, AFileCutShortAnywhereIsAnError) {
  const std::string document = SmallTokenizerJson().dump();
  for (size_t size = 0; size < document.size(); size += 29) {
    EXPECT_FALSE(ReadTokenizer(Write("a.json", document.substr(0, size))).ok()) << size;
  }
  const std::string merges = kSmallMerges;
  Write("vocab.json", SmallVocab().dump());
  for (size_t size = 0; size + 1 < merges.size(); ++size) {
    EXPECT_FALSE(ReadTokenizer(Write("merges.txt", merges.substr(0, size))).ok()) << size;
  }
}

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string digits;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (size_t k = 0; k < 4; ++k) {
      digits += i + k <= bytes.size() ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
    }
  }
  return digits;
}

std::string TiktokenLine(std::string_view bytes, int rank) {
  return Base64(bytes) + " " + std::to_string(rank) + "\n";
}

const std::vector<std::string> kSmallTokens = {"he", "ll", "hell", " w", "hello"};

// Lines with a token in base64 and its rank: the 256 bytes in order, then `tokens`.
std::string TiktokenText(const std::vector<std::string>& tokens = kSmallTokens) {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) {
    const char character = static_cast<char>(byte);
    text += TiktokenLine({&character, 1}, byte);
  }
  int rank = 256;
  for (const std::string& token : tokens) text += TiktokenLine(token, rank++);
  return text;
}

TEST_F(TokenizerFileTest, TiktokensRanksAreIds) {
  const auto tokenizer = Read(Write("mine.tiktoken", TiktokenText()));
  EXPECT_THAT(*tokenizer->Encode("hello whe"), ElementsAre(260, 259, 256));
  EXPECT_EQ(tokenizer->end_of_text(), 261);
  EXPECT_EQ(Read(directory_.path())->Fingerprint(), tokenizer->Fingerprint());
  Write("other.tiktoken", TiktokenText());
  EXPECT_THAT(Error(directory_.path()), HasSubstr("has several .tiktoken files"));
}

TEST_F(TokenizerFileTest, ADamagedTiktokenFileIsNamedWithItsLine) {
  const std::string good = TiktokenText();
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return Error(Write("a.tiktoken", text));
  };
  EXPECT_THAT(error("aGU= 256", "aGU= 255"),
              HasSubstr("a.tiktoken: line 257 ('aGU= 255'): the rank is 255, expected 256"));
  EXPECT_THAT(error("aGU= 256", "a!U= 256"), HasSubstr("expected a token in base64"));
  EXPECT_THAT(error("aGU= 256", "aGU="), HasSubstr("expected a token in base64"));
  EXPECT_THAT(error("aGU= 256", "eHl6 256"), HasSubstr("is not two tokens of smaller ranks"));
  EXPECT_THAT(error("aGU= 256", "bGw= 256"), HasSubstr("the token 'll' occurs twice"));
  EXPECT_THAT(error("aA== 104", "aGVo 104"), HasSubstr("the byte 0x68 ('h') has no token"));
}

// A merge has two parts, which may be produced by merges with later ranks; transformers' converter
// of .tiktoken files writes such merges.
TEST_F(TokenizerFileTest, PartsOfAMergeMayBeMadeByLaterMerges) {
  Json document = SmallTokenizerJson();
  document["model"]["merges"] = {"hell o", "he ll", "Ġ w", "l l", "h e"};
  const auto tokenizer = Read(Write("tokenizer.json", document.dump()));
  EXPECT_THAT(*tokenizer->Encode("hello whe"), ElementsAre(260, 259, 256));
  EXPECT_EQ((*ParseTokenizer(tokenizer->Serialized()))->Fingerprint(), tokenizer->Fingerprint());
  Write("vocab.json", SmallVocab().dump());
  EXPECT_EQ(Read(Write("merges.txt", "hell o\nhe ll\nĠ w\nl l\nh e\n"))->Fingerprint(),
            tokenizer->Fingerprint());
  // The first list gives 'hel' the best rank, and "he" comes too late for it; in the second one
  // 'hel' is made first, so the letters never become 'hello'.
  document["model"]["vocab"]["hel"] = 262;
  document["model"]["merges"] = {"he l", "hell o", "he ll", "Ġ w", "l l", "h e"};
  EXPECT_THAT(*Read(Write("tokenizer.json", document.dump()))->Encode("hello"), ElementsAre(260));
  document["model"]["merges"] = {"h e", "he l", "hell o", "he ll", "Ġ w", "l l"};
  EXPECT_THAT(*Read(Write("tokenizer.json", document.dump()))->Encode("hello"),
              ElementsAre(262, 'l' - '!', 'o' - '!'));
}

// These tokens come from patterns that keep together what GPT-2's pattern splits.
TEST_F(TokenizerFileTest, FilesOfOtherPatternsAreRefusedByTheirTokens) {
  for (const char* token : {";\n", ".s", "(s", "\ta", "_a", "1a", "'S", "  a"}) {
    std::vector<std::string> tokens = kSmallTokens;
    if (std::string_view(token) == "  a") tokens.push_back("  ");
    tokens.push_back(token);
    EXPECT_THAT(Error(Write("a.tiktoken", TiktokenText(tokens))),
                AllOf(HasSubstr("a.tiktoken: GPT-2's pattern splits 1 of the"),
                      HasSubstr(Json(token).dump()), HasSubstr("was trained with another pattern"),
                      HasSubstr("tokenizer.json, which names its pattern")))
        << token;
  }
  // Tokens that are whole pieces, or parts of characters.
  for (const char* token : {"'s", " .", "\n\n", "12", "'ll", "..", "\xc3\xa9", " \xe4", "\xa9."}) {
    std::vector<std::string> tokens = kSmallTokens;
    tokens.push_back(token);
    const auto tokenizer = ReadTokenizer(Write("a.tiktoken", TiktokenText(tokens)));
    EXPECT_TRUE(tokenizer.ok()) << token << ": " << tokenizer.status();
  }
}

TEST_F(TokenizerFileTest, ATiktokenFilesPatternIsAnAssumptionThatIsSaid) {
  std::vector<std::string> notes;
  ASSERT_TRUE(ReadTokenizer(Write("a.tiktoken", TiktokenText()), &notes).ok());
  EXPECT_THAT(notes, ElementsAre("a.tiktoken does not name the pattern that splits text; its "
                                 "tokens fit GPT-2's pattern, so gp uses that"));
  notes.clear();
  ASSERT_TRUE(ReadTokenizer(Write("tokenizer.json", SmallTokenizerJson().dump()), &notes).ok());
  EXPECT_THAT(notes, testing::IsEmpty());
}

// All two-letter words: 676 of small letters and 676 of capitals.
std::vector<std::string> TwoLetterTokens() {
  std::vector<std::string> tokens;
  for (const char first : {'a', 'A'}) {
    for (int i = 0; i < 26 * 26; ++i) {
      tokens.push_back({static_cast<char>(first + i / 26), static_cast<char>(first + i % 26)});
    }
  }
  return tokens;
}

TEST_F(TokenizerFileTest, OneCutTokenInMoreThanAThousandIsNoEvidence) {
  std::vector<std::string> tokens = TwoLetterTokens();
  tokens.push_back("'S");
  EXPECT_TRUE(ReadTokenizer(Write("a.tiktoken", TiktokenText(tokens))).ok());
  tokens.push_back(".s");
  EXPECT_THAT(
      Error(Write("a.tiktoken", TiktokenText(tokens))),
      HasSubstr(R"(splits 2 of the 1354 learned tokens in two, as "'S" (1608), ".s" (1609))"));
}

TEST_F(TokenizerFileTest, PairsWithoutAPatternAreReadLikewise) {
  Json vocab = SmallVocab();
  vocab[".s"] = 262;
  const std::string merges = std::string(kSmallMerges) + ". s\n";
  Write("vocab.json", vocab.dump());
  const std::string path = Write("merges.txt", merges);
  EXPECT_THAT(Error(path), HasSubstr("GPT-2's pattern splits 1 of the 6 learned tokens in two"));
  EXPECT_THAT(Error(Write("vocab.bpe", merges)), HasSubstr("was trained with another pattern"));
  Write("tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})");
  EXPECT_THAT(Error(path), HasSubstr("was trained with another pattern"));
  // This class stands for GPT-2's pattern.
  Write("tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer"})");
  EXPECT_THAT(*Read(path)->Encode("a.s"), ElementsAre('a' - '!', '.' - '!', 's' - '!'));
}

// OpenAI's p50k_base leaves rank 50256 out, and Whisper's multilingual.tiktoken ends with the line
// "= 50256".
TEST_F(TokenizerFileTest, ATiktokenFileMayKeepTheRankOfASpecialTokenFree) {
  const std::string small = TiktokenText();
  const auto gap =
      Read(Write("gap.tiktoken", small + TiktokenLine("  ", 262) + TiktokenLine("   ", 263)));
  EXPECT_EQ(gap->vocabulary_size(), 264);
  EXPECT_EQ(gap->end_of_text(), 261);
  EXPECT_THAT(*gap->Encode("   hello"), ElementsAre(262, ' ', 260));
  for (const char* empty : {"= 261\n", " 261", "= 261\r\n"}) {
    const auto tokenizer = Read(Write("empty.tiktoken", small + empty));
    ASSERT_NE(tokenizer, nullptr) << empty;
    EXPECT_EQ(tokenizer->vocabulary_size(), 263);
    EXPECT_EQ(tokenizer->end_of_text(), 262);
    EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{261, 260}), "hello");
    const auto back = ParseTokenizer(tokenizer->Serialized());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ((*back)->Fingerprint(), tokenizer->Fingerprint());
  }
  EXPECT_EQ(Read(Write("a.tiktoken", small + "= 261\n" + TiktokenLine("  ", 262)))->end_of_text(),
            263);
}

TEST_F(TokenizerFileTest, AnyOtherGapInTheRanksIsDamage) {
  const std::string small = TiktokenText();
  const auto error = [&](const std::string& more) {
    return Error(Write("a.tiktoken", small + more));
  };
  EXPECT_THAT(error(TiktokenLine("lo", 262)),
              AllOf(HasSubstr("a.tiktoken: line 262"), HasSubstr("the rank is 262, expected 261"),
                    HasSubstr("only the rank of <|endoftext|> may be left out, where nothing but "
                              "runs of spaces follows")));
  EXPECT_THAT(error(TiktokenLine("  ", 263)), HasSubstr("the rank is 263, expected 261"));
  EXPECT_THAT(error(TiktokenLine("  ", 262) + TiktokenLine("lo", 263)),
              HasSubstr("line 263 ('bG8= 263'): the rank 261 has no token, so it belongs to a "
                        "special token; only runs of spaces may follow it"));
  EXPECT_THAT(error(TiktokenLine("  ", 262) + TiktokenLine("   ", 264)),
              HasSubstr("the rank is 264, expected 263"));
  EXPECT_THAT(error("= 261\n" + TiktokenLine("lo", 262)), HasSubstr("the rank 261 has no token"));
  EXPECT_THAT(error("= 261\n= 262\n"), HasSubstr("the rank 261 has no token"));
  EXPECT_THAT(error("== 261\n"), HasSubstr("expected a token in base64"));
}

TEST_F(TokenizerFileTest, AnEmptyTokenOfAVocabularyIsNeverInText) {
  Json document = SmallTokenizerJson();
  document["model"]["vocab"][""] = 262;
  const auto tokenizer = Read(Write("tokenizer.json", document.dump()));
  EXPECT_EQ(tokenizer->vocabulary_size(), 263);
  EXPECT_THAT(*tokenizer->Encode("hello w"), ElementsAre(260, 259));
}

TEST_F(TokenizerFileTest, Gpt2sVocabularyIsRecognisedInEveryForm) {
  const auto gpt2 = BytePairTokenizer::InstalledGpt2();
  if (!gpt2.ok()) GTEST_SKIP() << gpt2.status();
  const std::string digest = (*gpt2)->Fingerprint();
  for (const auto& [name, text] : HuggingFaceTokenizerFiles(**gpt2)) Write(name, text);
  EXPECT_EQ(Read(directory_.path())->kind(), "gpt2");
  for (const char* name : {"tokenizer.json", "vocab.json", "merges.txt"}) {
    EXPECT_EQ(Read(JoinPath(directory_.path(), name))->Fingerprint(), digest) << name;
  }
  std::string text = *ReadGpt2Vocabulary();
  EXPECT_EQ(Read(Write("vocab.bpe", text))->Fingerprint(), digest);
  // With one merge changed, the file is no longer GPT-2's.
  text.replace(text.find("Ġ t\n"), 5, "Ġ q\n");
  EXPECT_NE(ReadTokenizer(Write("vocab.bpe", text)).status().ok(), true);
}

}  // namespace
}  // namespace gp
