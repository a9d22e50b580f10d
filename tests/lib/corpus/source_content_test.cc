#include "corpus/source_content.h"

#include <gmock/gmock.h>

#include "lib/base/temporary_directory.h"
#include "lib/corpus/corpus_text.h"
#include "lib/formats/packed_text.h"

namespace gp::corpus {
namespace {

using ::testing::HasSubstr;

constexpr char kJsonLines[] = "{\"text\": \"a\"}\n{\"text\": \"b\"}\n";

class SourceContentTest : public ::testing::Test {
 protected:
  Status Check(const std::string& name, const std::string& bytes,
               std::optional<TextForm> form = std::nullopt) {
    const auto sources = ExpandSources({Write(directory_.File(name), bytes)}, form);
    EXPECT_TRUE(sources.ok()) << sources.status();
    return CheckContents(*sources);
  }

  TemporaryDirectory directory_;
};

TEST_F(SourceContentTest, LinesOfJsonInATextFileAreNamedWithBothWays) {
  for (const std::string& bytes : {std::string(kJsonLines), formats::Gzip(kJsonLines)}) {
    EXPECT_THAT(Message(Check("a.txt", bytes)),
                HasSubstr("a.txt looks like lines of JSON; --as jsonl (in a run file data.format: "
                          "jsonl) reads a field of each line"));
  }
  EXPECT_TRUE(Check("a.txt", kJsonLines, TextForm::kText).ok());
  EXPECT_TRUE(Check("a.txt", kJsonLines, TextForm::kJsonLines).ok());
  EXPECT_TRUE(Check("a.jsonl", kJsonLines).ok());
}

TEST_F(SourceContentTest, WhatHasAMagicNumberIsRefusedInEveryForm) {
  const std::string zip("PK\x03\x04\x14\0", 6);
  for (const char* name : {"a.txt", "a.jsonl"}) {
    EXPECT_THAT(Message(Check(name, zip)), HasSubstr("is a zip archive, expected text"));
    EXPECT_THAT(Message(Check(name, zip, TextForm::kText)), HasSubstr("is a zip archive"));
  }
}

TEST_F(SourceContentTest, AnotherEncodingIsNamedInEveryForm) {
  std::string wide;
  for (const char c : std::string(kJsonLines)) wide += {c, '\0'};
  for (const char* name : {"a.txt", "a.jsonl"}) {
    EXPECT_THAT(Message(Check(name, wide)), HasSubstr("looks like text in UTF-16LE"));
    EXPECT_THAT(Message(Check(name, wide)),
                HasSubstr("iconv -f UTF-16LE -t UTF-8 " + directory_.File(name)));
  }
  EXPECT_TRUE(Check("a.txt", wide, TextForm::kText).ok());
}

TEST_F(SourceContentTest, ListsAndPicklesInATextFileAreNamed) {
  EXPECT_THAT(Message(Check("a.txt", "[1, 2, 3]")), HasSubstr("a list of numbers in JSON"));
  EXPECT_THAT(Message(Check("a.txt", "[\"a\", \"b\"]")),
              HasSubstr("jq -c '.[] | {text: .}' " + directory_.File("a.txt")));
  for (const char* name : {"a.txt", "a.jsonl"}) {
    EXPECT_THAT(Message(Check(name, "(lp0\nVa text\np1\na.")), HasSubstr("is a pickle"));
  }
}

TEST_F(SourceContentTest, WhatComesAfterTheBeginningIsLookedAt) {
  std::string text;
  while (text.size() < 200'000) text += "A line of a text.\n";
  EXPECT_TRUE(Check("a.txt", text).ok());
  const std::string joined = text + std::string(100'000, '\0');
  EXPECT_THAT(Message(Check("a.txt", joined)), HasSubstr("looks like binary data"));
  EXPECT_THAT(Message(Check("a.txt", joined)), HasSubstr(" near byte "));
  EXPECT_TRUE(Check("a.txt", joined, TextForm::kText).ok());
}

TEST_F(SourceContentTest, TheLastFileIsLookedAt) {
  const std::string first = Write(directory_.File("1.txt"), "text");
  const std::string last = Write(directory_.File("2.txt"), std::string(100, '\0'));
  EXPECT_THAT(Message(CheckContents(*ExpandSources({first, last}))),
              HasSubstr("2.txt looks like binary data"));
}

}  // namespace
}  // namespace gp::corpus
