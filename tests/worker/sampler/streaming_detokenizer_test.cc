#include "worker/sampler/streaming_detokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "base/text/utf8.h"
#include "tokenizer/byte_tokenizer.h"

namespace gp::engine {
namespace {

// The output for the bytes of `text`, with one token per byte.
struct Given {
  std::string text;
  int64_t tokens = 0;
  bool stopped = false;
};

Given Feed(std::string_view text, const std::vector<std::string>& stops,
           const std::string& begun = "") {
  const ByteTokenizer tokenizer;
  StreamingDetokenizer stream(tokenizer, stops, begun);
  Given given;
  const auto take = [&](const StreamingDetokenizer::Piece& piece) {
    given.text += piece.text;
    given.tokens += piece.tokens;
  };
  for (const char byte : text) {
    take(stream.Add(static_cast<unsigned char>(byte)));
    if (stream.stopped()) break;
  }
  if (!stream.stopped()) take(stream.Finish());
  given.stopped = stream.stopped();
  return given;
}

TEST(StreamingDetokenizer, GivesCharactersWhole) {
  const ByteTokenizer tokenizer;
  StreamingDetokenizer stream(tokenizer, {});
  const std::string text = "a\u00e9\u20ac\U0001f600";
  std::vector<std::string> pieces;
  int64_t tokens = 0;
  for (const char byte : text) {
    const auto piece = stream.Add(static_cast<unsigned char>(byte));
    tokens += piece.tokens;
    if (!piece.text.empty()) pieces.push_back(piece.text);
  }
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "\u00e9", "\u20ac", "\U0001f600"}));
  EXPECT_EQ(tokens, std::ssize(text));
  EXPECT_EQ(stream.Finish().text, "");
}

TEST(StreamingDetokenizer, WhatIsNoCharacterBecomesTheReplacementCharacter) {
  const Given given = Feed("a\xff\x80z\xe2\x82", {});
  EXPECT_EQ(given.text, "a\ufffd\ufffdz\ufffd");
  EXPECT_EQ(given.tokens, 6);
}

TEST(StreamingDetokenizer, GoesOnWithACharacterThatThePromptBegan) {
  const ByteTokenizer tokenizer;
  StreamingDetokenizer stream(tokenizer, {}, "\xe2\x82");
  const auto piece = stream.Add(0xac);
  EXPECT_EQ(piece.text, "\u20ac");
  EXPECT_EQ(piece.tokens, 1);
  StreamingDetokenizer broken(tokenizer, {}, "\xe2\x82");
  EXPECT_EQ(broken.Add('a').text, "\ufffda");
}

TEST(StreamingDetokenizer, EndsBeforeTheFirstStop) {
  const Given given = Feed("one two three", {"three", " tw"});
  EXPECT_EQ(given.text, "one");
  EXPECT_EQ(given.tokens, 3);
  EXPECT_TRUE(given.stopped);
}

TEST(StreamingDetokenizer, HoldsBackOnlyWhatMayBeAStop) {
  const ByteTokenizer tokenizer;
  StreamingDetokenizer stream(tokenizer, {"\n\nUser:"});
  EXPECT_EQ(stream.Add('a').text, "a");
  EXPECT_EQ(stream.Add('\n').text, "");
  EXPECT_EQ(stream.Add('\n').text, "");
  EXPECT_EQ(stream.Add('\n').text, "\n");
  const auto released = stream.Add('U');
  EXPECT_EQ(released.text, "");
  const auto other = stream.Add('x');
  EXPECT_EQ(other.text, "\n\nUx");
  EXPECT_EQ(other.tokens, 4);
}

TEST(StreamingDetokenizer, WhatWasHeldBackIsGivenAtTheEnd) {
  const Given given = Feed("the en", {"end"});
  EXPECT_EQ(given.text, "the en");
  EXPECT_EQ(given.tokens, 6);
  EXPECT_FALSE(given.stopped);
}

// A tokenizer whose tokens stand for several characters.
class PairTokenizer : public ByteTokenizer {
 public:
  std::string Decode(std::span<const int32_t> tokens) const override {
    std::string text;
    for (const int32_t token : tokens) text += std::string(1, static_cast<char>(token)) + "\n";
    return text;
  }
};

TEST(StreamingDetokenizer, CountsATokenWhoseFirstCharacterWasGivenOutBeforeTheStop) {
  const PairTokenizer tokenizer;
  StreamingDetokenizer stream(tokenizer, {"\nb"});
  EXPECT_EQ(stream.Add('a').text, "a");
  const auto last = stream.Add('b');
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(last.text, "");
  EXPECT_EQ(last.tokens, 1);
}

TEST(StreamingDetokenizer, AStopAtTheBeginningLeavesNothing) {
  const Given given = Feed("stop it", {"stop"});
  EXPECT_EQ(given.text, "");
  EXPECT_EQ(given.tokens, 0);
  EXPECT_TRUE(given.stopped);
}

TEST(StreamingDetokenizer, AStopDoesNotBeginWithThePrompt) {
  const Given whole = Feed("\xa9\xa9", {"\u00e9"}, "\xc3");
  EXPECT_EQ(whole.text, "\u00e9\ufffd");
  EXPECT_EQ(whole.tokens, 2);
  EXPECT_FALSE(whole.stopped);
  const Given replaced = Feed("ab", {"\ufffda", "b"}, "\xc3");
  EXPECT_EQ(replaced.text, "\ufffda");
  EXPECT_EQ(replaced.tokens, 1);
  EXPECT_TRUE(replaced.stopped);
  const Given later = Feed("\x82\xac\xe2\x82\xacz", {"\u20ac"}, "\xe2");
  EXPECT_EQ(later.text, "\u20ac");
  EXPECT_EQ(later.tokens, 2);
  EXPECT_TRUE(later.stopped);
}

TEST(StreamingDetokenizer, AStopIsFoundInTheTextThatIsSeen) {
  const Given first = Feed("ab\xff\xff", {"\ufffd"});
  EXPECT_EQ(first.text, "ab");
  EXPECT_EQ(first.tokens, 2);
  EXPECT_TRUE(first.stopped);
  // The incomplete character E2 82, which c does not continue, becomes a single replacement
  // character.
  const Given pair = Feed(
      "a\xff"
      "b\xe2\x82"
      "cd",
      {"\ufffd"
       "c"});
  EXPECT_EQ(pair.text,
            "a\ufffd"
            "b");
  EXPECT_EQ(pair.tokens, 3);
  EXPECT_TRUE(pair.stopped);
  EXPECT_EQ(Feed("a\xe2\x82\xac", {"\ufffd"}).text, "a\u20ac");
}

TEST(StreamingDetokenizer, AnUnfinishedCharacterAtTheEndIsAReplacementThatMayBeAStop) {
  const Given given = Feed("ab\xe2\x82", {"\ufffd"});
  EXPECT_EQ(given.text, "ab");
  EXPECT_EQ(given.tokens, 2);
  EXPECT_TRUE(given.stopped);
}

TEST(StreamingDetokenizer, AnEmptyStopMeansNothing) { EXPECT_EQ(Feed("text", {""}).text, "text"); }

// The position where the text ends: at the first stop string to be complete; if several are, at the
// longest.
size_t EndOf(std::string_view text, const std::vector<std::string>& stops) {
  for (size_t size = 1; size <= text.size(); ++size) {
    size_t end = std::string::npos;
    for (const std::string& stop : stops) {
      if (text.substr(0, size).ends_with(stop)) end = std::min(end, size - stop.size());
    }
    if (end != std::string::npos) return end;
  }
  return std::string::npos;
}

TEST(StreamingDetokenizer, GivesTheTextBeforeTheStopWhateverTheBytes) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 24; ++i) text += "ab\n"[random() % 3];
    std::vector<std::string> stops;
    for (int i = 0; i < 2; ++i) {
      std::string& stop = stops.emplace_back();
      for (size_t size = 1 + random() % 4; stop.size() < size;) stop += "ab\n"[random() % 3];
    }
    const size_t expected = EndOf(text, stops);
    const Given given = Feed(text, stops);
    ASSERT_EQ(given.text, text.substr(0, expected));
    ASSERT_EQ(given.tokens, std::ssize(given.text));
    ASSERT_EQ(given.stopped, expected != std::string::npos);
  }
}

TEST(StreamingDetokenizer, GivesTheValidTextBeforeTheStopWhereBytesAreNoCharacters) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string bytes = "a\xc3\xa9\xe2\x82\xac\xff";
  const std::string characters[] = {"a", "\u00e9", "\u20ac", "\ufffd"};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (int i = 0; i < 16; ++i) text += bytes[random() % bytes.size()];
    std::string stop;
    for (size_t size = 1 + random() % 3; size > 0; --size) stop += characters[random() % 4];
    const std::string seen = ValidUtf8(text);
    const size_t end = seen.find(stop);
    const Given given = Feed(text, {stop});
    ASSERT_EQ(given.text, seen.substr(0, end));
    ASSERT_EQ(given.stopped, end != std::string::npos);
    ASSERT_TRUE(given.stopped || given.tokens == std::ssize(text));
  }
}

}  // namespace
}  // namespace gp::engine
