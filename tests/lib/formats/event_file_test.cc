#include "formats/event_file.h"

#include <gtest/gtest.h>

namespace gp::formats {
namespace {

std::string ExampleFile() {
  return FormatEventFileStart(1.5) + FormatSessionStart(2.0, 1) +
         FormatScalarEvent(2.5, 1, {{"train/loss", 4.25f}, {"train/lr", 1e-3f}}) +
         FormatScalarEvent(3.5, int64_t{1} << 40, {{"val/loss", -0.5f}});
}

TEST(EventFile, ComesBackEqual) {
  const auto events = ParseEventFile(ExampleFile());
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_EQ(events->size(), 4u);
  EXPECT_TRUE((*events)[0].scalars.empty());
  EXPECT_TRUE((*events)[1].scalars.empty());
  EXPECT_EQ((*events)[1].step, 1);
  EXPECT_EQ((*events)[2].wall_time, 2.5);
  EXPECT_EQ((*events)[2].scalars,
            (std::vector<Scalar>{{"train/loss", 4.25f}, {"train/lr", 1e-3f}}));
  EXPECT_EQ((*events)[3].step, int64_t{1} << 40);
  EXPECT_EQ((*events)[3].end_offset, ExampleFile().size());
}

// The bytes that TensorBoard's own writer produces for this event.
TEST(EventFile, MatchesTensorBoardByteForByte) {
  const std::string start = FormatEventFileStart(1.0);
  const unsigned char expected[] = {0x18, 0, 0, 0, 0, 0, 0, 0,    0xa3, 0x7f, 0x4b, 0x22,
                                    0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x1a, 0x0d};
  EXPECT_EQ(start.substr(0, sizeof expected),
            std::string(reinterpret_cast<const char*>(expected), sizeof expected));
  EXPECT_EQ(start.substr(sizeof expected, 13), "brain.Event:2");
  EXPECT_EQ(start.size(), sizeof expected + 13 + 4);
}

// Event(wall_time=1, step=7, session_log=SessionLog(status=START)) as protobuf encodes it.
TEST(EventFile, ASessionStartHasTensorBoardsBytes) {
  const unsigned char expected[] = {0x09, 0,    0,    0,    0,    0, 0, 0xf0,
                                    0x3f, 0x10, 0x07, 0x3a, 0x02, 8, 1};
  EXPECT_EQ(FormatSessionStart(1.0, 7).substr(12, sizeof expected),
            std::string(reinterpret_cast<const char*>(expected), sizeof expected));
}

// TensorBoard's EventAccumulator reads both (checked with 2.20); these are the bytes that it read.
TEST(EventFile, ATextIsATensorOfThePluginText) {
  const std::string event = FormatTextEvent(1.0, 7, "samples/text_summary", "Once");
  const std::string expected =
      "\x0a\x14samples/text_summary"
      "\x4a\x08\x0a\x06\x0a\x04text" +
      std::string("\x42\x0e\x08\x07\x12\x04\x12\x02\x08\x01\x42\x04Once");
  EXPECT_NE(event.find(expected), std::string::npos);
  const auto events = ParseEventFile(FormatEventFileStart(1.5) + event);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_EQ(events->at(1).step, 7);
  EXPECT_TRUE(events->at(1).scalars.empty());
}

TEST(EventFile, HyperparametersStartASession) {
  const std::string event =
      FormatHyperparameters(1.0, {{"a", true}, {"lr", 0.5}, {"name", std::string("tiny")}});
  EXPECT_NE(event.find("_hparams_/session_start_info"), std::string::npos);
  // Entries of the map: a key, and a google.protobuf.Value.
  EXPECT_NE(event.find(std::string("\x0a\x07\x0a\x01"
                                   "a\x12\x02\x20\x01")),
            std::string::npos);
  EXPECT_NE(event.find(std::string("\x0a\x04name\x12\x06\x1a\x04tiny")), std::string::npos);
  const auto events = ParseEventFile(event);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_EQ(events->at(0).step, 0);
  EXPECT_TRUE(events->at(0).scalars.empty());
}

TEST(EventFile, TextsBecomeValidUtf8) {
  EXPECT_NE(FormatTextEvent(1.0, 1, "t", "a\xff").find("a\xef\xbf\xbd"), std::string::npos);
}

TEST(EventFile, EveryTruncationKeepsTheEventsBeforeIt) {
  const std::string file = ExampleFile();
  const auto all = *ParseEventFile(file);
  for (size_t size = 1; size < file.size(); ++size) {
    std::vector<ScalarEvent> intact;
    const auto events = ParseEventFile(file.substr(0, size), &intact);
    size_t whole = 0;
    while (all[whole].end_offset <= size) ++whole;
    const bool at_a_boundary = whole > 0 && all[whole - 1].end_offset == size;
    EXPECT_EQ(events.ok(), at_a_boundary) << size;
    EXPECT_EQ(events.ok() ? events->size() : intact.size(), whole) << size;
  }
}

TEST(EventFile, EveryFlippedBitIsNoticed) {
  const std::string file = ExampleFile();
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string damaged = file;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_FALSE(ParseEventFile(damaged).ok()) << bit;
  }
}

TEST(EventFile, NameIsOneThatTensorBoardReads) {
  EXPECT_EQ(EventFileName(1700000000, "host"), "events.out.tfevents.1700000000.host");
}

}  // namespace
}  // namespace gp::formats
