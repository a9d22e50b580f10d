#include "formats/likeness/likeness.h"

#include <gmock/gmock.h>

#include "lib/formats/token_bytes.h"

namespace gp::formats {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

std::string WhatIfText(const std::string& begin) {
  const auto likeness = UnlikeText(begin);
  return likeness ? likeness->what : "text";
}

std::string Wide(std::string_view text, size_t width, size_t character) {
  std::string wide;
  for (const char c : text) {
    std::string one(width, '\0');
    one[character] = c;
    wide += one;
  }
  return wide;
}

TEST(UnlikeText, TakesWhatPeopleTrainOn) {
  for (const std::string& text :
       {""s,
        "a"s,
        "A sentence.\n"s,
        "Straße, naïve, 日本語, Привет\n"s,
        "[1] A footnote.\n"s,
        "[12, 13]"s,
        "[1] 12 14 15\n[4] 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31\n"s,
        "[1, 2, 3] are references.\n"s,
        "1, 2, 3, 4, 5, 6, 7, 8, 9, 10\n"s,
        "[a, b, c]"s,
        "[[Main Page]] of a wiki\n"s,
        "[true story]"s,
        "[\n"s,
        "[2024-01-02] a log\n[2024-01-03] goes on\n"s,
        "{x: a set}"s,
        "{ return 1; }"s,
        "ACGTACGT"s,
        "tab\tseparated\r\n"s,
        "\x1b[1mbold\x1b[0m of a terminal"s,
        "one bad byte \xff in a long text of many words"s,
        "ok \xff no"s}) {
    EXPECT_EQ(WhatIfText(text), "text") << text;
  }
}

TEST(UnlikeText, ACharacterThatTheEndCutsIsNoDamage) {
  std::string text;
  while (text.size() < kLikenessBytes) text += "日";
  EXPECT_EQ(WhatIfText(text.substr(0, kLikenessBytes)), "text");
}

TEST(UnlikeText, RecognisesWideEncodingsWithoutAMark) {
  const std::string text = "A text of some length in another encoding.\n";
  EXPECT_EQ(WhatIfText(Wide(text, 2, 0)), "text in UTF-16LE");
  EXPECT_EQ(WhatIfText(Wide(text, 2, 1)), "text in UTF-16BE");
  EXPECT_EQ(WhatIfText(Wide(text, 4, 0)), "text in UTF-32LE");
  EXPECT_EQ(WhatIfText(Wide(text, 4, 3)), "text in UTF-32BE");
}

TEST(UnlikeText, RecognisesTokensAndOtherAlphabets) {
  EXPECT_THAT(WhatIfText(BytesOf<uint16_t>(Tokens(50257))), HasSubstr("binary data"));
  EXPECT_THAT(WhatIfText(BytesOf<uint32_t>(Tokens(100277))), HasSubstr("binary data"));
  EXPECT_THAT(WhatIfText("\xcf\xf0\xe8\xe2\xe5\xf2 \xec\xe8\xf0"), HasSubstr("that are not UTF-8"));
}

TEST(UnlikeText, RecognisesEncodingsOfOneByte) {
  std::string latin, damaged, ascii_damaged = "A text of many words.\n";
  for (int i = 0; i < 50; ++i) {
    latin += "Le gar\xe7on \xe0 la fen\xeatre regarde passer les nuages du soir.\n";
    damaged += "Straße und Wald \xff in the middle of the day\n";
  }
  EXPECT_THAT(WhatIfText(latin), HasSubstr("not UTF-8, probably Windows-1252 or Latin-1 (150 of"));
  EXPECT_EQ(UnlikeText(latin)->way, "convert it: iconv -f WINDOWS-1252 -t UTF-8 {}");
  EXPECT_EQ(WhatIfText(damaged), "text");
  for (int i = 0; i < 7; ++i) ascii_damaged += "word \x92";
  EXPECT_EQ(WhatIfText(ascii_damaged), "text");
  EXPECT_THAT(WhatIfText(ascii_damaged + "\x92"), HasSubstr("not UTF-8"));
}

TEST(UnlikeText, RecognisesLinesOfJsonAmongOtherLines) {
  const std::string lines =
      "{\"text\": \"a\"}\n{ \"text\": \"b\" }\r\n{\"text\": \"c\"}\n{\"n\": 1}\n";
  for (const std::string& begin :
       {"// exported\n"s, "# exported\n"s, "{}\n"s, "\xef\xbb\xbf\n"s, "\n\n"s}) {
    EXPECT_EQ(WhatIfText(begin + lines), "lines of JSON") << begin;
  }
  EXPECT_EQ(WhatIfText("\x1e{\"text\": \"a\"}\n\x1e{\"text\": \"b\"}\n"), "lines of JSON");
  EXPECT_EQ(WhatIfText("{'text': 'a'}\n{'text': \"it's\"}\n"), "lines of Python's dicts");
  EXPECT_EQ(WhatIfText("He wrote:\n{\"text\": \"a\"}\n{\"text\": \"b\"}\nand she read it.\n"),
            "text");
  EXPECT_EQ(WhatIfText("{'a', 'b'} is a set\n{'c'} is one, too\n"), "text");
}

// The page that curl saves for a wrong URL.
TEST(UnlikeText, RecognisesThePageOfAServer) {
  const std::string page = "<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n";
  EXPECT_THAT(WhatIfText(page), HasSubstr("an HTML page"));
  EXPECT_THAT(WhatIfText("\n<html lang=\"en\">"), HasSubstr("an HTML page"));
  EXPECT_THAT(WhatIfText("<?xml version=\"1.0\"?>\n<Error><Code>NoSuchKey</Code></Error>"),
              HasSubstr("an error message of a server"));
  EXPECT_EQ(WhatIfText("<?xml version=\"1.0\"?>\n<poem>A line</poem>"), "text");
  EXPECT_EQ(WhatIfText(page + std::string(kLikenessBytes, 'a')), "text") << "somebody's collection";
}

TEST(UnlikeText, RecognisesJson) {
  EXPECT_EQ(WhatIfText("{\"text\": \"a\"}\n{\"text\": \"b\"}\n"), "lines of JSON");
  EXPECT_EQ(WhatIfText("\n  { \"text\": \"a\"}"), "lines of JSON");
  EXPECT_EQ(WhatIfText("{\"text\": \"" + std::string(kLikenessBytes, 'x')), "lines of JSON");
  EXPECT_EQ(WhatIfText("{\n  \"text\": \"a\"\n}\n"), "a JSON document");
  EXPECT_EQ(WhatIfText("[\n  {\"text\": \"a\"}\n]\n"), "a list in JSON");
  EXPECT_EQ(WhatIfText("[\"a\", \"b\"]"), "a list in JSON");
}

// The suggested command works on the file.
TEST(UnlikeText, RecognisesJsonThatIsNoObject) {
  EXPECT_EQ(WhatIfText("\"a \\\"b\\\"\"\n\"c\"\n"), "lines of JSON strings");
  std::string strings, speech;
  for (int i = 0; i < 20; ++i) {
    strings += "\"a line\"\n";
    speech += "\"A line,\" she said.\n\"Another one.\"\n";
  }
  EXPECT_EQ(WhatIfText(strings), "lines of JSON strings");
  EXPECT_EQ(WhatIfText(speech), "text");
  EXPECT_EQ(WhatIfText("\"Where?\"\n\"Here.\"\n"), "text") << "a short dialogue";
  EXPECT_EQ(WhatIfText("\"a\",\"b\"\n\"c\",\"d\"\n"), "text") << "a table";
}

TEST(UnlikeText, RecognisesJsonBehindAnIdOrAWord) {
  EXPECT_EQ(WhatIfText("1\t{\"text\": \"a\"}\n2\t{\"text\": \"b\"}\n"),
            "lines of an id, a tab and a JSON object");
  EXPECT_EQ(WhatIfText("data: {\"text\": \"a\"}\n\ndata: {\"text\": \"b\"}\n\ndata: [DONE]\n" +
                       std::string("data: {\"text\": \"c\"}\ndata: {\"text\": \"d\"}\n")),
            "server-sent events that contain JSON");
  EXPECT_EQ(WhatIfText(")]}',\n[{\"text\": \"a\"}]"), "a list in JSON");
  EXPECT_EQ(WhatIfText("12:01:00 INFO\t{\"a\": 1}\n12:02:00 INFO\t{\"a\": 2}\n"), "text")
      << "a log";
}

std::string WhatInside(const std::string& piece) {
  const auto likeness = UnlikeTextInside(piece);
  return likeness ? likeness->what : "text";
}

TEST(UnlikeTextInside, TakesDamagedPlacesOfALongText) {
  std::string text;
  while (text.size() < kLikenessBytes) text += "Words of a long text, one after another.\n";
  EXPECT_EQ(WhatInside(text), "text");
  std::string damaged = text;
  for (const size_t at : {10, 5000, 9000}) damaged[at] = '\0';
  for (size_t at = 1; at < 12; ++at) damaged[at * 5000] = '\x92';
  EXPECT_EQ(WhatInside(damaged), "text");
  EXPECT_EQ(WhatInside("\x80\x80 the rest of a character \xe6\x97"), "text");
  EXPECT_EQ(WhatInside(""), "text");
}

TEST(UnlikeTextInside, RecognisesWhatIsNoText) {
  const std::string text = "Words of a long text, one after another.\n";
  EXPECT_THAT(WhatInside(text + std::string(20, '\0')), HasSubstr("binary data"));
  EXPECT_THAT(WhatInside(BytesOf<uint16_t>(Tokens(65))), HasSubstr("binary data"));
  std::string latin, other;
  for (int i = 0; i < 400; ++i) {
    latin += "caf\xe9 au lait, tr\xe8s bon, chaud et pas cher du tout\n";
    other += static_cast<char>(0x80 + i % 100);
  }
  EXPECT_THAT(WhatInside(latin), HasSubstr("Windows-1252 or Latin-1"));
  EXPECT_THAT(WhatInside(text + other), HasSubstr("not UTF-8"));
  EXPECT_EQ(WhatInside("t\": 1}\n{\"text\": \"a\"}\n{\"text\": \"b\"}\n{\"te"), "lines of JSON");
}

TEST(UnlikeText, RecognisesDocumentsThatAreWrittenInLetters) {
  EXPECT_EQ(WhatIfText("{\\rtf1\\ansi{\\fonttbl\\f0 Arial;}\\f0 words}"), "a document in RTF");
  EXPECT_EQ(WhatIfText("WARC/1.0\r\nWARC-Type: response\r\n\r\n"),
            "an archive of web pages (WARC)");
  EXPECT_EQ(WhatIfText("a \x1b$B:#F|\x1b(B b"), "text in ISO-2022-JP");
  EXPECT_EQ(WhatIfText("['a', 'b', 'c', 'd']"), "a list of Python's strings");
  EXPECT_EQ(WhatIfText("['a', 'b'] is a list"), "text");
  EXPECT_EQ(WhatIfText("\x1b[31mred\x1b[0m"), "text") << "a terminal's";
}

TEST(UnlikeText, RecognisesListsInJson) {
  std::string long_list = "[0";
  while (long_list.size() < kLikenessBytes) long_list += ", 17";
  for (const std::string& text :
       {"[1,2,3]"s, "[1, 2, 3, 4]\n"s, " [\n  464,\n  3290,\n  318\n]\n"s, "[-100, 5, 7]"s,
        "[0.5, 1e-3, 2]"s, "[[1, 2], [3, 4]]"s, "[[], [1, 2, 3]]"s, "[1, 2, 3"s, long_list}) {
    const auto likeness = UnlikeText(text);
    ASSERT_TRUE(likeness) << text;
    EXPECT_EQ(likeness->what, "a list of numbers in JSON") << text;
    EXPECT_THAT(WayFor(likeness->way, "a b.json"),
                HasSubstr("np.hstack(json.load(open(sys.argv[1]))).astype('<u4'))\" 'a b.json' "));
  }
  const auto lines = UnlikeText("[1, 2]\n[3, 4]\n");
  ASSERT_TRUE(lines);
  EXPECT_THAT(lines->way, HasSubstr("json.loads(line) for line in"));
  const auto strings = UnlikeText("[\"a\", \"b\"]");
  ASSERT_TRUE(strings);
  EXPECT_EQ(WayFor(strings->way, "a.json"),
            "write a line for each text: jq -c '.[] | {text: .}' a.json");
  for (const char* text : {"[{\"text\": \"a\"}]", "[1, \"a\"]", "[true, false]", "[null, \"a\"]",
                           "[[\"a\", \"b\"]]", "[1, 2, 3, {\"a\": 1}]"}) {
    const auto list = UnlikeText(text);
    ASSERT_TRUE(list) << text;
    EXPECT_EQ(list->what, "a list in JSON") << text;
    EXPECT_EQ(WayFor(list->way, "a.json"),
              "write a line for each of its values: jq -c '.[]' a.json");
  }
}

TEST(LooksLikeText, OfWords) {
  EXPECT_TRUE(LooksLikeText("A text that is named as tokens.\n"));
  EXPECT_TRUE(LooksLikeText("Straße und Übermut\n"));
  EXPECT_FALSE(LooksLikeText(""));
}

TEST(LooksLikeText, OfWordsWithForeignBytes) {
  std::string windows, damaged;
  for (int i = 0; i < 20; ++i) windows += "He said: \x93It\x92s fine\x94 \x96 and left the house. ";
  for (int i = 0; i < 20; ++i) damaged += "She did not answer him at all. ";
  EXPECT_TRUE(LooksLikeText(windows));
  EXPECT_TRUE(LooksLikeText(damaged + '\x92' + damaged));
}

TEST(LooksLikeText, OfLettersWithoutSpaces) {
  EXPECT_TRUE(LooksLikeText("[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]"));
  EXPECT_TRUE(LooksLikeText("ACGTTGCAACGTTGCAACGTTGCAACGTTGCAACGTTGCA"));
  EXPECT_FALSE(LooksLikeText(std::string(1000, 'a'))) << "one token again and again";
  EXPECT_FALSE(LooksLikeText("abcd")) << "two tokens";
}

}  // namespace
}  // namespace gp::formats
