// The contract of every Store, as a typed test suite. A fixture has Open(), which closes the store
// and opens it again as a starting coordinator would.
#pragma once

#include <gtest/gtest.h>

#include "coordinator/state/cluster.h"
#include "coordinator/store/codec.h"
#include "coordinator/store/many_runs.h"
#include "coordinator/store/run_texts.h"
#include "coordinator/store/sample_events.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

template <typename Fixture>
class StoreContract : public ::testing::Test {
 protected:
  Fixture fixture_;
};
TYPED_TEST_SUITE_P(StoreContract);

inline std::vector<StoredEvent> LoadAll(Store& store) {
  std::vector<StoredEvent> all;
  const Status status = store.Load([&](const StoredEvent& stored) { all.push_back(stored); });
  EXPECT_TRUE(status.ok()) << status;
  return all;
}

TYPED_TEST_P(StoreContract, GivesBackEveryKindAsItWas) {
  Store* store = &this->fixture_.Open();
  std::vector<Event> events = OneOfEachKind();
  for (Event& event : OneOfEachNodeKind()) events.push_back(std::move(event));
  for (Event& event : OneOfEachStorageKind()) events.push_back(std::move(event));
  for (Event& event : OneOfEachSweepKind()) events.push_back(std::move(event));
  ASSERT_EQ(store->Append(events).value(), 1u);
  store = &this->fixture_.Open();
  const auto loaded = LoadAll(*store);
  ASSERT_EQ(loaded.size(), events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(loaded[i].sequence, i + 1);
    // The encoding contains every field, so events with equal bytes are equal.
    EXPECT_EQ(EncodeRecord(1, loaded[i].event), EncodeRecord(1, events[i])) << Kind(events[i]);
  }
}

// Without what only a cluster knows of a submission.
inline Submission AsSubmitted(Submission submission) {
  submission.record = 0;
  submission.initial_model.clear();
  return submission;
}

TYPED_TEST_P(StoreContract, WhatItGivesBackReplaysToTheSameCluster) {
  Store& store = this->fixture_.Open();
  ASSERT_TRUE(store.Append(OneOfEachKind()).ok());
  Cluster cluster;
  for (const StoredEvent& stored : LoadAll(store)) {
    ASSERT_TRUE(Apply(stored.event, cluster).ok()) << Kind(stored.event);
  }
  const auto slim = cluster.FindRun(RunId("r"));
  EXPECT_EQ(slim->state, RunState::kCancelled);
  EXPECT_EQ(slim->submission->resolved + slim->submission->source, "");
  const auto run = WithTexts(store, slim).value();
  Submission longer = SampleSubmission();
  longer.target_steps = 200;
  EXPECT_EQ(AsSubmitted(*run->submission), longer);
  EXPECT_EQ(AsSubmitted(*run->ended_legs.front().submission), SampleSubmission());
  EXPECT_EQ(run->checkpoints.size(), 2u);
}

TYPED_TEST_P(StoreContract, NumbersGoOnAcrossOpens) {
  ASSERT_EQ(this->fixture_.Open().Append({SampleSubmit("a", "1"), SampleSubmit("b", "2")}).value(),
            1u);
  EXPECT_EQ(this->fixture_.Open().Append({SampleSubmit("c", "3")}).value(), 3u);
}

TYPED_TEST_P(StoreContract, EveryOpenTakesAHigherGeneration) {
  const uint64_t first = this->fixture_.Open().generation();
  EXPECT_GT(this->fixture_.Open().generation(), first);
}

TYPED_TEST_P(StoreContract, ReadsOneRunFromAPlaceOn) {
  Store& store = this->fixture_.Open();
  const auto queued = [](const std::string& run) {
    return Event{RunId(run), At(2), "scheduler", "", RunQueued{"waits"}};
  };
  ASSERT_TRUE(store
                  .Append({SampleSubmit("a", "1"), SampleSubmit("b", "2"), queued("a"), queued("b"),
                           queued("a")})
                  .ok());
  const auto events = store.ReadRun(RunId("a"), 1, 10);
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ((*events)[0].sequence, 3u);
  EXPECT_EQ((*events)[1].sequence, 5u);
  EXPECT_EQ(store.ReadRun(RunId("a"), 0, 1)->size(), 1u);
  EXPECT_TRUE(store.ReadRun(RunId("nobody"), 0, 10)->empty());
}

TYPED_TEST_P(StoreContract, AStoreThatWasTakenOverRefusesToWrite) {
  Store& store = this->fixture_.Open();
  ASSERT_TRUE(store.Append({SampleSubmit("a", "1")}).ok());
  this->fixture_.TakeOver();
  EXPECT_EQ(store.Append({SampleSubmit("b", "2")}).status().code(), StatusCode::kAborted);
  EXPECT_EQ(LoadAll(store).size(), 1u);
}

TYPED_TEST_P(StoreContract, AFullDiskTakesNothingAndLaterEverything) {
  Store& store = this->fixture_.Open();
  ASSERT_TRUE(store.Append({SampleSubmit("a", "1")}).ok());
  this->fixture_.SetFull(true);
  std::vector<Event> many;
  for (int i = 0; i < 500; ++i) {
    many.push_back(SampleSubmit("m" + std::to_string(i), "m" + std::to_string(i)));
    std::get<RunSubmitted>(many.back().body).submission.source.assign(4096, 'x');
  }
  EXPECT_EQ(store.Append(many).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(LoadAll(store).size(), 1u);
  this->fixture_.SetFull(false);
  EXPECT_EQ(store.Append(many).value(), 2u);
}

// The ids of ended runs computed by a simple filter, as a reference for MemoryStore and
// SqliteStore.
inline std::vector<RunId> EndedByHand(int count, const RunQuery& query, const EndedRange& range) {
  std::vector<RunId> ids;
  for (int number = count - 1; number >= 0 && ids.size() < range.limit; --number) {
    const auto submitted = static_cast<uint64_t>(2 * number + 1);
    const uint64_t ended = submitted + 1;
    if (ended <= range.after || ended > range.through || submitted >= range.before) continue;
    const Event submit = SubmitOfMany(number);
    Run run;
    run.id = submit.run;
    run.submission =
        std::make_shared<const Submission>(std::get<RunSubmitted>(submit.body).submission);
    run.labels = run.submission->labels;
    run.submitted_by = submit.actor;
    run.submitted_at = submit.at;
    run.state = EndOfMany(number);
    if (Matches(query, run)) ids.push_back(run.id);
  }
  return ids;
}

inline std::vector<RunId> ListedIds(Store& store, const RunQuery& query, const EndedRange& range) {
  const auto listed = store.ListEnded(query, range);
  EXPECT_TRUE(listed.ok()) << listed.status();
  std::vector<RunId> ids;
  for (const EndedRun& run : *listed) ids.push_back(run.run);
  return ids;
}

TYPED_TEST_P(StoreContract, ListsTheEndedRunsThatMatchNewestFirst) {
  constexpr int kRuns = 300;
  Store& store = this->fixture_.Open();
  AppendEndedRuns(0, kRuns, store);
  const EndedRange ranges[] = {{},
                               {.limit = 7},
                               {.before = 401},
                               {.before = 402, .limit = 7},
                               {.through = 400},
                               {.after = 400, .limit = 50},
                               {.after = 100, .through = 500, .before = 401, .limit = 9}};
  for (const RunQuery& query : ManyQueries()) {
    for (const EndedRange& range : ranges) {
      EXPECT_EQ(ListedIds(store, query, range), EndedByHand(kRuns, query, range))
          << CanonicalText(query) << " " << range.after << " " << range.through << " "
          << range.before << " " << range.limit;
    }
  }
}

TYPED_TEST_P(StoreContract, FiveThousandEndedRunsAreListedInPagesOnceEach) {
  constexpr int kRuns = 5000;
  Store& store = this->fixture_.Open();
  AppendEndedRuns(0, kRuns, store);
  for (const RunQuery& query : {RunQuery{}, RunQuery{.labels = {{"group", "3"}}}}) {
    std::vector<RunId> ids;
    EndedRange range{.limit = 900};
    while (true) {
      const auto page = store.ListEnded(query, range);
      ASSERT_TRUE(page.ok()) << page.status();
      for (const EndedRun& run : *page) ids.push_back(run.run);
      if (page->size() < range.limit) break;
      range.before = page->back().submitted_sequence;
    }
    EXPECT_EQ(ids, EndedByHand(kRuns, query, {}));
  }
}

TYPED_TEST_P(StoreContract, RunsThatHaveNotEndedAreNotListedAsEnded) {
  Store& store = this->fixture_.Open();
  AppendEndedRuns(0, 3, store);
  ASSERT_TRUE(store.Append({SubmitOfMany(3), SubmitOfMany(4)}).ok());
  EXPECT_EQ(ListedIds(store, {}, {}), (std::vector<RunId>{IdOfMany(2), IdOfMany(1), IdOfMany(0)}));
  ASSERT_TRUE(store.Append({EndingOfMany(3)}).ok());
  const auto newest = store.ListEnded({}, {.limit = 1});
  EXPECT_EQ(newest->at(0).run, IdOfMany(3));
  EXPECT_EQ(newest->at(0).submitted_sequence, 7u);
}

TYPED_TEST_P(StoreContract, AnEndOfARunThatWasNeverSubmittedIsKeptAndNotListed) {
  Store& store = this->fixture_.Open();
  ASSERT_TRUE(store.Append({EndingOfMany(1)}).ok());
  EXPECT_TRUE(ListedIds(store, {}, {}).empty());
  EXPECT_EQ(LoadAll(store).size(), 1u);
}

TYPED_TEST_P(StoreContract, EndedRunsAreListedAfterAnotherOpen) {
  AppendEndedRuns(0, 20, this->fixture_.Open());
  Store& store = this->fixture_.Open();
  for (const RunQuery& query : ManyQueries()) {
    EXPECT_EQ(ListedIds(store, query, {}), EndedByHand(20, query, {})) << CanonicalText(query);
  }
}

TYPED_TEST_P(StoreContract, EndedRunsAreFoundByTheLabelsThatTheyWereGiven) {
  const auto annotate = [](int number, RunAnnotated change) {
    return Event{IdOfMany(number), At(1), "user u", "r", std::move(change)};
  };
  const RunQuery best{.labels = {{"best", "yes"}}};
  const RunQuery group{.labels = {{"group", "1"}}};
  Store& store = this->fixture_.Open();
  ASSERT_TRUE(store
                  .Append({SubmitOfMany(1), annotate(1, {.labels = {{"best", "yes"}}}),
                           SubmitOfMany(2), SubmitOfMany(3)})
                  .ok());
  EXPECT_TRUE(ListedIds(store, best, {}).empty()) << "it has not ended";
  ASSERT_TRUE(store.Append({EndingOfMany(1), EndingOfMany(2), EndingOfMany(3)}).ok());
  EXPECT_EQ(ListedIds(store, best, {}), std::vector<RunId>{IdOfMany(1)});
  EXPECT_EQ(ListedIds(store, group, {}), std::vector<RunId>{IdOfMany(1)});
  ASSERT_TRUE(store
                  .Append({annotate(2, {.labels = {{"best", "yes"}}}),
                           annotate(1, {.removed_labels = {"best", "group"}})})
                  .ok());
  EXPECT_EQ(ListedIds(store, best, {}), std::vector<RunId>{IdOfMany(2)});
  EXPECT_TRUE(ListedIds(store, group, {}).empty());
  Store& again = this->fixture_.Open();
  EXPECT_EQ(ListedIds(again, best, {}), std::vector<RunId>{IdOfMany(2)});
}

REGISTER_TYPED_TEST_SUITE_P(
    StoreContract, GivesBackEveryKindAsItWas, WhatItGivesBackReplaysToTheSameCluster,
    NumbersGoOnAcrossOpens, EveryOpenTakesAHigherGeneration, ReadsOneRunFromAPlaceOn,
    AStoreThatWasTakenOverRefusesToWrite, AFullDiskTakesNothingAndLaterEverything,
    ListsTheEndedRunsThatMatchNewestFirst, FiveThousandEndedRunsAreListedInPagesOnceEach,
    RunsThatHaveNotEndedAreNotListedAsEnded, AnEndOfARunThatWasNeverSubmittedIsKeptAndNotListed,
    EndedRunsAreListedAfterAnotherOpen, EndedRunsAreFoundByTheLabelsThatTheyWereGiven);

}  // namespace gp::coordinator
