// Goal: lists and streams that span several pages or epochs contain each item exactly once,
// wherever the boundaries are. Uses a real gp-coordinator over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "coordinator/coordinator_fixture.h"
#include "rpc/status.h"

namespace gp::coordinator {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using Numbers = std::vector<int64_t>;

constexpr const char* kPagedRun = R"(apiVersion: gp/v1
name: paged
model: {n_layer: 1, n_head: 2, n_embd: 32, n_ctx: 32}
data: {text: [/data/text.txt], tokenizer: bytes}
batch: {micro_batch: 4, sequence: 32}
budget: {steps: 2000}
retries: {backoff: 1ms, backoff_max: 1ms}
)";

Numbers Range(int64_t first, int64_t last) {
  Numbers numbers(static_cast<size_t>(last - first + 1));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

class RunServicePagingTest : public CoordinatorFixture {
 protected:
  std::string Submit(const std::string& request_id) {
    v1::SubmitRequest request = MakeRequest(request_id);
    request.set_source(kPagedRun);
    return SubmitRun(request).run_id();
  }

  Status List(int limit, const std::string& token, v1::ListResponse& page,
              bool include_finished = false) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::ListRequest request;
    request.set_include_finished(include_finished);
    request.set_limit(limit);
    request.set_page_token(token);
    return rpc::FromGrpc(stub_->List(&context, request, &page));
  }

  // The ids from all pages of at most `limit` runs; `sizes` gets the number of runs on each page.
  std::vector<std::string> ListInPages(int limit, Numbers& sizes) {
    std::vector<std::string> ids;
    std::string token;
    do {
      v1::ListResponse page;
      const Status status = List(limit, token, page);
      EXPECT_TRUE(status.ok()) << status;
      for (const v1::Run& run : page.runs()) ids.push_back(run.run_id());
      sizes.push_back(page.runs_size());
      token = page.next_page_token();
    } while (!token.empty() && sizes.size() < 100);
    return ids;
  }

  Numbers Events(const std::string& run, uint64_t after) {
    v1::EventsRequest request;
    request.set_run(run);
    request.set_after_sequence(after);
    Numbers sequences;
    for (const auto& event : ReadAll<v1::RunEvent>(&v1::RunService::Stub::Events, request)) {
      sequences.push_back(static_cast<int64_t>(event.sequence()));
    }
    return sequences;
  }

  // Sends the items and waits for their acknowledgement, that is, until they are durable.
  void Send(ScriptedAgent& agent, v1::Telemetry telemetry) {
    telemetry.set_first_sequence(next_sequence_);
    next_sequence_ += static_cast<uint64_t>(telemetry.items_size());
    agent.Send(telemetry);
    agent.AwaitAck(next_sequence_ - 1);
  }

  // Waits until the agent is assigned the rank in this epoch; telemetry of other epochs is dropped.
  static v1::Assignment AwaitEpoch(ScriptedAgent& agent, uint64_t epoch) {
    const auto is_placed = [epoch](const v1::DesiredState& desired) {
      return desired.assignments_size() == 1 && desired.assignments(0).epoch() == epoch;
    };
    return agent.AwaitDesired(is_placed).assignments(0);
  }

  static void FailRank(ScriptedAgent& agent, const v1::Assignment& assignment) {
    v1::RankStatus rank = ScriptedAgent::StatusOf(assignment, v1::RANK_PHASE_EXITED);
    rank.set_exit_cause(v1::EXIT_CAUSE_SIGNAL);
    agent.Report({rank});
    agent.AwaitDesired([](const auto& desired) { return desired.assignments().empty(); });
    agent.Report({});
  }

  void SendPoints(ScriptedAgent& agent, const std::string& run, uint64_t epoch, int64_t first,
                  int64_t last) {
    v1::Telemetry telemetry;
    for (int64_t step = first; step <= last; ++step) {
      v1::TelemetryItem& item = *telemetry.add_items();
      item.set_run_id(run);
      item.mutable_point()->set_step(step);
      item.mutable_point()->set_epoch(epoch);
    }
    Send(agent, telemetry);
  }

  void SendLines(ScriptedAgent& agent, const std::string& run, int count) {
    v1::Telemetry telemetry;
    for (int i = 0; i < count; ++i) {
      v1::TelemetryItem& item = *telemetry.add_items();
      item.set_run_id(run);
      item.mutable_line()->set_rank(i % 2);
      item.mutable_line()->set_text("line");
    }
    Send(agent, telemetry);
  }

  // The points after `after_step`, each encoded as "epoch * 10000 + step".
  Numbers Metrics(const std::string& run, int64_t after_step) {
    v1::MetricsRequest request;
    request.set_run(run);
    request.set_after_step(after_step);
    Numbers numbers;
    for (const auto& point : ReadAll<v1::MetricPoint>(&v1::RunService::Stub::Metrics, request)) {
      numbers.push_back(static_cast<int64_t>(point.epoch()) * 10000 + point.step());
    }
    return numbers;
  }

  Numbers Lines(const std::string& run, uint64_t after, int tail, int rank) {
    v1::LogsRequest request;
    request.set_run(run);
    request.set_after_sequence(after);
    request.set_tail(tail);
    request.set_rank(rank);
    Numbers sequences;
    for (const auto& line : ReadAll<v1::LogLine>(&v1::RunService::Stub::Logs, request)) {
      sequences.push_back(static_cast<int64_t>(line.sequence()));
    }
    return sequences;
  }

  uint64_t next_sequence_ = 1;
};

TEST_F(RunServicePagingTest, PagesHoldEveryRunOnceNewestFirst) {
  std::vector<std::string> newest_first;
  for (int i = 0; i < 5; ++i) {
    newest_first.insert(newest_first.begin(), Submit("request-" + std::to_string(i)));
  }
  const std::pair<int, Numbers> cases[] = {
      {1, {1, 1, 1, 1, 1}}, {2, {2, 2, 1}}, {4, {4, 1}}, {5, {5}}, {6, {5}}};
  for (const auto& [limit, expected] : cases) {
    Numbers sizes;
    EXPECT_EQ(ListInPages(limit, sizes), newest_first) << "pages of " << limit;
    EXPECT_EQ(sizes, expected) << "pages of " << limit;
  }
  v1::ListResponse page;
  EXPECT_EQ(List(2, "not a token", page).code(), StatusCode::kInvalidArgument);
}

TEST_F(RunServicePagingTest, WhatHasEndedIsListedOnlyWhenAskedFor) {
  const std::string ended = Submit("r1");
  const std::string queued = Submit("r2");
  Cancel(ended);  // there is no node, so it ends at once
  v1::ListResponse page;
  ASSERT_TRUE(List(10, "", page).ok());
  ASSERT_EQ(page.runs_size(), 1);
  EXPECT_EQ(page.runs(0).run_id(), queued);
  ASSERT_TRUE(List(10, "", page, /*include_finished=*/true).ok());
  EXPECT_EQ(page.runs_size(), 2);
}

TEST_F(RunServicePagingTest, EveryRunIsListedOnceWhileRunsAreAddedAndEnd) {
  std::vector<std::string> existing;
  for (int i = 0; i < 12; ++i) existing.push_back(Submit("request-" + std::to_string(i)));
  for (int i = 0; i < 12; i += 3) Cancel(existing[static_cast<size_t>(i)]);
  std::vector<std::string> listed;
  std::string token;
  int added = 0;
  do {
    v1::ListResponse page;
    const Status status = List(2, token, page, /*include_finished=*/true);
    ASSERT_TRUE(status.ok()) << status;
    for (const v1::Run& run : page.runs()) listed.push_back(run.run_id());
    EXPECT_EQ(page.total(), 12);
    token = page.next_page_token();
    Submit("late-" + std::to_string(added));
    if (added < 12) Cancel(existing[static_cast<size_t>(added)]);
    ++added;
  } while (!token.empty() && added < 50);
  std::sort(existing.begin(), existing.end());
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(listed, existing);
}

TEST_F(RunServicePagingTest, ATokenOfAnotherFilterOrOfNobodyIsRefusedInWords) {
  for (int i = 0; i < 3; ++i) Submit("request-" + std::to_string(i));
  v1::ListResponse page;
  ASSERT_TRUE(List(1, "", page).ok());
  const std::string token = page.next_page_token();
  EXPECT_TRUE(List(2, token, page).ok()) << "the page's size is no filter";
  const Status other = List(1, token, page, /*include_finished=*/true);
  EXPECT_EQ(other.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(other), HasSubstr("another filter"));
  EXPECT_THAT(Message(List(1, "2", page)), HasSubstr("was not returned by List"));
}

TEST_F(RunServicePagingTest, FiltersAndCountsLookAtLiveAndEndedRuns) {
  const std::string ended = Submit("r1");
  const std::string queued = Submit("r2");
  Cancel(ended);
  const auto ids = [&](const v1::ListRequest& request, v1::ListResponse& page) {
    grpc::ClientContext context;
    SetDeadline(context);
    const Status status = rpc::FromGrpc(stub_->List(&context, request, &page));
    EXPECT_TRUE(status.ok()) << status;
    std::vector<std::string> found;
    for (const v1::Run& run : page.runs()) found.push_back(run.run_id());
    return found;
  };
  using Ids = std::vector<std::string>;
  v1::ListResponse page;
  v1::ListRequest by_state;
  by_state.add_states(v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(ids(by_state, page), Ids{ended});
  EXPECT_EQ(page.total(), 1);
  ASSERT_EQ(page.state_counts_size(), 2) << "of all runs";
  EXPECT_EQ(page.state_counts(0).state(), v1::RUN_STATE_QUEUED);
  EXPECT_EQ(page.state_counts(0).runs(), 1);
  page.Clear();
  v1::ListRequest mine;
  mine.set_include_finished(true);
  mine.set_submitted_by("@me");
  EXPECT_EQ(ids(mine, page), (Ids{queued, ended}));
  EXPECT_FALSE(page.has_total());
  EXPECT_EQ(page.runs(0).submitted_by(), "owner");
  page.Clear();
  mine.set_submitted_by("ann");
  EXPECT_EQ(ids(mine, page), Ids());
  page.Clear();
  v1::ListRequest elsewhere;
  elsewhere.set_namespace_("elsewhere");
  elsewhere.set_include_finished(true);
  EXPECT_EQ(ids(elsewhere, page), Ids());
  EXPECT_EQ(page.total(), 0);
  v1::ListRequest wrong;
  wrong.add_states(static_cast<v1::RunState>(77));
  grpc::ClientContext context;
  EXPECT_EQ(stub_->List(&context, wrong, &page).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(RunServicePagingTest, PositionsAreCountedOverTheWholeQueue) {
  for (int i = 0; i < 6; ++i) Submit("request-" + std::to_string(i));
  v1::SubmitRequest urgent = MakeRequest("urgent");
  urgent.set_source(std::string(kPagedRun) + "priority: 5\n");
  const std::string first = SubmitRun(urgent).run_id();
  v1::ListResponse page;
  ASSERT_TRUE(List(3, "", page).ok());
  ASSERT_EQ(page.runs_size(), 3);
  EXPECT_EQ(page.runs(0).run_id(), first);
  EXPECT_EQ(page.runs(0).queue_position(), 1);
  EXPECT_EQ(page.runs(1).queue_position(), 7);
  EXPECT_EQ(page.runs(2).queue_position(), 6);
  EXPECT_EQ(Get(page.runs(1).run_id()).queue_position(), 7);
  Cancel(first);
  EXPECT_EQ(Get(page.runs(1).run_id()).queue_position(), 6);
  EXPECT_EQ(Get(first).queue_position(), 0);
}

TEST_F(RunServicePagingTest, ARunThatRunsIsListedBeforeThoseThatWait) {
  const std::string running = Submit("r1");
  ScriptedAgent agent(process_.address(), process_.storage_root(), 1);
  agent.Connect();
  AwaitEpoch(agent, 1);
  const std::string waiting = Submit("r2");
  const std::string newest = Submit("r3");
  Numbers sizes;
  EXPECT_EQ(ListInPages(1, sizes), (std::vector<std::string>{running, newest, waiting}));
}

TEST_F(RunServicePagingTest, AListGoesOnAfterTheCoordinatorWasKilled) {
  for (int i = 0; i < 4; ++i) Cancel(Submit("request-" + std::to_string(i)));
  v1::ListResponse first;
  ASSERT_TRUE(List(3, "", first, /*include_finished=*/true).ok());
  Restart();
  v1::ListResponse second;
  ASSERT_TRUE(List(3, first.next_page_token(), second, /*include_finished=*/true).ok());
  ASSERT_EQ(second.runs_size(), 1);
  EXPECT_EQ(second.next_page_token(), "");
  EXPECT_EQ(second.total(), 4);
}

TEST_F(RunServicePagingTest, EventsResumeBehindTheOneThatWasSeen) {
  const std::string run = Submit("r1");
  Submit("r2");
  Cancel(run);
  const Numbers all = Events(run, 0);
  ASSERT_GE(all.size(), 4u) << "submitted, queued, cancel requested, ended";
  for (size_t seen = 0; seen < all.size(); ++seen) {
    EXPECT_EQ(Events(run, static_cast<uint64_t>(all[seen])),
              Numbers(all.begin() + static_cast<long>(seen) + 1, all.end()));
  }
}

// The coordinator sends a desired state once; an unchanged state costs no messages.
TEST_F(RunServicePagingTest, AnAgentIsToldOfADesiredStateOnce) {
  const std::string run = Submit("r1");
  ScriptedAgent agent(process_.address(), process_.storage_root(), 1);
  agent.Connect();
  agent.AwaitDesired([](const auto& desired) { return desired.assignments_size() == 1; });
  for (int64_t step = 1; step <= 5; ++step) SendPoints(agent, run, 1, step, step);
  EXPECT_LE(agent.desired_seen(), 3) << "nothing, the run, and room for one more change";
}

TEST_F(RunServicePagingTest, MetricsLeaveOutTheStepsThatARestartLost) {
  const std::string run = Submit("r1");
  ScriptedAgent agent(process_.address(), process_.storage_root(), 1);
  agent.Connect();
  const v1::Assignment first = AwaitEpoch(agent, 1);
  SendPoints(agent, run, 1, 1, 10);
  FailRank(agent, first);
  AwaitEpoch(agent, 2);
  SendPoints(agent, run, 2, 6, 8);
  const Numbers expected = {10001, 10002, 10003, 10004, 10005, 20006, 20007, 20008};
  EXPECT_EQ(Metrics(run, -1), expected) << "steps 9 and 10 of epoch 1 are lost";
  EXPECT_EQ(Metrics(run, 5), (Numbers{20006, 20007, 20008}));
  EXPECT_EQ(Metrics(run, 8), Numbers());
}

// Long enough to need several reads of the log.
TEST_F(RunServicePagingTest, StreamsGoOnAcrossTheirReads) {
  const std::string run = Submit("r1");
  ScriptedAgent agent(process_.address(), process_.storage_root(), 1);
  agent.Connect();
  AwaitEpoch(agent, 1);
  SendPoints(agent, run, 1, 1, 600);
  SendLines(agent, run, 600);
  EXPECT_THAT(Metrics(run, -1), ElementsAreArray(Range(10001, 10600)));
  for (const int64_t after : {0, 255, 256, 257, 599, 600}) {
    EXPECT_THAT(Lines(run, static_cast<uint64_t>(after), 0, -1),
                ElementsAreArray(Range(after + 1, 600)))
        << after;
  }
  EXPECT_THAT(Lines(run, 0, 300, -1), ElementsAreArray(Range(301, 600)));
  EXPECT_EQ(Lines(run, 0, 2, 0), (Numbers{597, 599})) << "lines of rank 0 have odd numbers";
}

}  // namespace
}  // namespace gp::coordinator
