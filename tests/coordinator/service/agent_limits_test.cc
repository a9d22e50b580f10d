#include "coordinator/service/agent_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text/utf8.h"
#include "coordinator/service/convert.h"

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

v1::AgentReport OneRank() {
  v1::AgentReport report;
  v1::RankStatus& rank = *report.add_ranks();
  rank.set_run_id("7f3k2q9a0c");
  rank.set_slot_id("cpu-0");
  rank.set_address("10.0.0.1:4711");
  return report;
}

std::string Refusal(const v1::AgentReport& report) { return Message(CheckLimits(report)); }

TEST(AgentLimits, AnHonestReportIsTaken) {
  v1::AgentReport report = OneRank();
  for (int i = 1; i < kRanksMax; ++i) *report.add_ranks() = report.ranks(0);
  for (int i = 0; i < kWrittenMax; ++i) {
    report.mutable_ranks(0)->add_written()->set_directory(std::string(kPathBytesMax, 'd'));
  }
  report.mutable_ranks(0)->set_message(std::string(1 << 20, 'm'));  // is truncated
  EXPECT_TRUE(CheckLimits(report).ok());
}

TEST(AgentLimits, MoreThanAnHonestAgentSendsIsRefusedInWords) {
  v1::AgentReport report = OneRank();
  for (int i = 0; i < kRanksMax; ++i) *report.add_ranks() = report.ranks(0);
  EXPECT_THAT(Refusal(report), HasSubstr("4097 ranks are too many"));
  report = OneRank();
  report.mutable_ranks(0)->set_address("h:1\n");
  EXPECT_THAT(Refusal(report), HasSubstr("a rank's address has 4 bytes; expected printable"));
  report = OneRank();
  report.mutable_ranks(0)->set_run_id(std::string(kNameBytesMax + 1, 'r'));
  EXPECT_THAT(Refusal(report), HasSubstr("a rank's run has 257 bytes"));
  report = OneRank();
  report.mutable_ranks(0)->add_written()->set_directory(std::string(kPathBytesMax + 1, 'd'));
  EXPECT_THAT(Refusal(report), HasSubstr("a checkpoint's directory has 4097 bytes"));
  report = OneRank();
  (*report.mutable_ranks(0)->mutable_offer()->mutable_kernels())["avx2"] =
      std::string(1 << 17, 'k');
  EXPECT_THAT(Refusal(report), HasSubstr("the kernel choices have"));
}

v1::AgentHello SmallHello() {
  v1::AgentHello hello;
  hello.set_node_id("n");
  hello.set_gpu_driver("570.86.15");
  hello.set_storage_probe("4c1f");
  hello.mutable_data_roots()->add_paths("/data");
  hello.add_slots()->set_slot_id("gpu-0");
  return hello;
}

TEST(AgentLimits, EveryTextOfAHelloHasALimit) {
  v1::AgentHello hello = SmallHello();
  EXPECT_TRUE(CheckLimits(hello).ok());
  hello.set_gpu_driver(std::string(kNameBytesMax + 1, '5'));
  EXPECT_THAT(Message(CheckLimits(hello)), HasSubstr("the node's GPU driver has 257 bytes"));
  hello = SmallHello();
  hello.set_storage_probe(std::string(kTextBytesMax + 1, 'p'));
  EXPECT_THAT(Message(CheckLimits(hello)), HasSubstr("the storage probe has 4097 bytes"));
  hello = SmallHello();
  hello.mutable_data_roots()->add_paths(std::string(kPathBytesMax + 1, 'd'));
  EXPECT_THAT(Message(CheckLimits(hello)), HasSubstr("a data root has 4097 bytes"));
  hello = SmallHello();
  for (int i = 0; i < kDataRootsMax; ++i) hello.mutable_data_roots()->add_paths("/data");
  EXPECT_THAT(Message(CheckLimits(hello)), HasSubstr("1025 data roots are too many"));
}

TEST(AgentLimits, AProblemOfASlotHasALimitAndItsSlotAName) {
  v1::AgentReport report = OneRank();
  (*report.mutable_slot_problems())["gpu-0"] = std::string(1 << 20, 'p');  // is truncated
  EXPECT_TRUE(CheckLimits(report).ok());
  (*report.mutable_slot_problems())[std::string(kNameBytesMax + 1, 's')] = "lost";
  EXPECT_THAT(Refusal(report), HasSubstr("a slot's id has 257 bytes"));
}

// After a long absence of the coordinator, the agent's oldest checkpoints are older than the sealed
// ones.
TEST(AgentLimits, OfManyCheckpointsTheNewestAreTaken) {
  v1::AgentReport report = OneRank();
  for (int i = 1; i <= 10'000; ++i) report.mutable_ranks(0)->add_written()->set_step(i);
  EXPECT_TRUE(CheckLimits(report).ok());
  const RankReport rank = FromProto(report.ranks(0));
  ASSERT_EQ(rank.written.size(), static_cast<size_t>(kWrittenMax));
  EXPECT_EQ(rank.written.back().step, 10'000);
}

TEST(AgentLimits, LongTextsAreCutInOnePiece) {
  std::string text = "a";
  while (text.size() < 2 * kTextBytesMax) text += "é";
  const std::string cut = CutText(text);
  EXPECT_EQ(cut.size(), kTextBytesMax);
  EXPECT_EQ(ValidUtf8(cut, '!'), cut);
  EXPECT_EQ(CutText("two\nlines"), "two\nlines");
  v1::RankStatus rank;
  rank.set_message(text);
  rank.set_waiting(text);
  EXPECT_EQ(FromProto(rank).message.size(), kTextBytesMax);
  EXPECT_EQ(FromProto(rank).waiting.size(), kTextBytesMax);
  v1::Slot slot;
  slot.set_problem(text);
  EXPECT_EQ(FromProto(slot).problem.size(), kTextBytesMax);
}

TEST(AgentLimits, ATimeThatIsNoneBecomesTheNearest) {
  google::protobuf::Timestamp time;
  time.set_seconds(INT64_MAX);
  time.set_nanos(-5);
  EXPECT_EQ(FromProto(time), Timestamp(std::chrono::seconds(253402300799)));
  time.set_seconds(INT64_MIN);
  EXPECT_EQ(FromProto(time), Timestamp());
}

}  // namespace
}  // namespace gp::coordinator
