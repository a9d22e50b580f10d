#include "coordinator/control/intake.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

constexpr std::chrono::nanoseconds kNow{0};

Event Hello(const std::string& node, uint64_t session) {
  return {.body = NodeConnected{.node = NodeId(node), .session = session}};
}
Event Report(const std::string& node, uint64_t session, uint64_t revision = 0) {
  return {.body = NodeReported{NodeId(node), session, revision}};
}
Event Goodbye(const std::string& node, uint64_t session) {
  return {.body = NodeDisconnected{NodeId(node), session}};
}
Event Warning(const std::string& run) { return {.run = RunId(run), .body = RunWarned{1, 1, "w"}}; }

bool PostSubmit(Intake& intake, const std::string& run) {
  Intake::Message message{SampleSubmit(run, run), [](const StatusOr<Admission>&) {}};
  return intake.PostRequest(message);
}

// Returns the events taken, as text such as "node_connected n1".
std::vector<std::string> TakeAll(Intake& intake, size_t count_max = SIZE_MAX) {
  std::vector<std::string> taken;
  for (const Intake::Message& message : intake.Take(count_max, kNow)) {
    const Event& event = message.event;
    std::string who = event.run.value();
    if (const auto* hello = std::get_if<NodeConnected>(&event.body)) {
      who = fmt::format("{}/{}", hello->node, hello->session);
    } else if (const auto* report = std::get_if<NodeReported>(&event.body)) {
      who = fmt::format("{}/{} at {}", report->node, report->session, report->applied_revision);
    } else if (const auto* goodbye = std::get_if<NodeDisconnected>(&event.body)) {
      who = fmt::format("{}/{}", goodbye->node, goodbye->session);
    }
    taken.push_back(fmt::format("{} {}", Kind(event), who));
  }
  return taken;
}

using Taken = std::vector<std::string>;

TEST(Intake, TakesOneOfEachLaneInTurn) {
  Intake intake({});
  for (const char* run : {"a", "b", "c", "d"}) ASSERT_TRUE(PostSubmit(intake, run));
  ASSERT_TRUE(intake.PostNode(Report("n1", 1)));
  ASSERT_TRUE(intake.PostNode(Report("n2", 1)));
  ASSERT_TRUE(intake.PostFinding(Warning("w")));
  EXPECT_EQ(TakeAll(intake, 5), (Taken{"node_reported n1/1 at 0", "warned w", "submitted a",
                                       "node_reported n2/1 at 0", "submitted b"}));
  EXPECT_EQ(TakeAll(intake, 5), (Taken{"submitted c", "submitted d"}));
}

TEST(Intake, ANewerReportTakesThePlaceOfOneThatWaits) {
  Intake intake({});
  for (const uint64_t revision : {1, 2, 3}) {
    ASSERT_TRUE(intake.PostNode(Report("n1", 1, revision)));
    ASSERT_TRUE(intake.PostNode(Report("n2", 1, revision)));
  }
  EXPECT_EQ(TakeAll(intake), (Taken{"node_reported n1/1 at 3", "node_reported n2/1 at 3"}));
  ASSERT_TRUE(intake.PostNode(Report("n1", 1, 4)));
  EXPECT_EQ(TakeAll(intake), Taken{"node_reported n1/1 at 4"});
}

TEST(Intake, TellsANodesWordsInOrder) {
  Intake intake({});
  ASSERT_TRUE(intake.PostNode(Hello("n", 1)));
  ASSERT_TRUE(intake.PostNode(Report("n", 1, 1)));
  ASSERT_TRUE(intake.PostNode(Report("n", 1, 2)));
  ASSERT_TRUE(intake.PostNode(Goodbye("n", 1)));
  EXPECT_EQ(TakeAll(intake),
            (Taken{"node_connected n/1", "node_reported n/1 at 2", "node_disconnected n/1"}));
}

TEST(Intake, AHelloReplacesWhatOlderStreamsSaid) {
  Intake intake({});
  for (const uint64_t session : {1, 2, 3}) {
    ASSERT_TRUE(intake.PostNode(Hello("n", session)));
    ASSERT_TRUE(intake.PostNode(Report("n", session)));
    if (session < 3) {
      ASSERT_TRUE(intake.PostNode(Goodbye("n", session)));
    }
  }
  EXPECT_EQ(TakeAll(intake), (Taken{"node_connected n/3", "node_reported n/3 at 0"}));
}

TEST(Intake, AnOldStreamsLateWordsDoNotTouchTheNewOnes) {
  Intake intake({});
  ASSERT_TRUE(intake.PostNode(Hello("n", 2)));
  ASSERT_TRUE(intake.PostNode(Report("n", 2, 7)));
  ASSERT_TRUE(intake.PostNode(Hello("n", 1)));
  ASSERT_TRUE(intake.PostNode(Report("n", 1, 9)));
  ASSERT_TRUE(intake.PostNode(Goodbye("n", 1)));
  EXPECT_EQ(TakeAll(intake), (Taken{"node_connected n/2", "node_reported n/2 at 7"}));
}

TEST(Intake, AFullLaneRefusesItsOwnAndNothingElse) {
  Intake intake({.requests = 2, .nodes = 2, .findings = 2});
  for (const char* one : {"a", "b"}) {
    ASSERT_TRUE(PostSubmit(intake, one));
    ASSERT_TRUE(intake.PostNode(Report(one, 1)));
    ASSERT_TRUE(intake.PostFinding(Warning(one)));
  }
  EXPECT_FALSE(PostSubmit(intake, "c"));
  EXPECT_FALSE(intake.PostNode(Report("c", 1)));
  EXPECT_FALSE(intake.PostFinding(Warning("c")));
  EXPECT_TRUE(intake.PostNode(Report("b", 1, 2))) << "it has its place already";
  EXPECT_EQ(TakeAll(intake).size(), 6u);
  EXPECT_TRUE(PostSubmit(intake, "c"));
}

TEST(Intake, ClosedItGivesWhatWaitsAndTakesNothingMore) {
  Intake intake({});
  ASSERT_TRUE(PostSubmit(intake, "a"));
  intake.Close();
  EXPECT_FALSE(PostSubmit(intake, "b"));
  EXPECT_FALSE(intake.PostNode(Report("n", 1)));
  EXPECT_FALSE(intake.PostFinding(Warning("w")));
  EXPECT_EQ(intake.Take(10, std::chrono::hours(1)).size(), 1u);
  EXPECT_TRUE(intake.Take(10, std::chrono::hours(1)).empty());
}

}  // namespace
}  // namespace gp::coordinator
