// What every Store promises, as a suite of typed tests. A fixture has Open(), which gives the store
// as a coordinator that starts would get it, closing the one before.
#pragma once

#include <gtest/gtest.h>

#include "coordinator/state/cluster.h"
#include "coordinator/store/codec.h"
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
  ASSERT_EQ(store->Append(events).value(), 1u);
  store = &this->fixture_.Open();
  const auto loaded = LoadAll(*store);
  ASSERT_EQ(loaded.size(), events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(loaded[i].sequence, i + 1);
    // The encoding holds every field, so equal bytes are equal events.
    EXPECT_EQ(EncodeRecord(1, loaded[i].event), EncodeRecord(1, events[i])) << Kind(events[i]);
  }
}

TYPED_TEST_P(StoreContract, WhatItGivesBackReplaysToTheSameCluster) {
  Store& store = this->fixture_.Open();
  ASSERT_TRUE(store.Append(OneOfEachKind()).ok());
  Cluster cluster;
  for (const StoredEvent& stored : LoadAll(store)) {
    ASSERT_TRUE(Apply(stored.event, cluster).ok()) << Kind(stored.event);
  }
  const auto run = cluster.FindRun(RunId("r"));
  EXPECT_EQ(run->state, RunState::kCancelled);
  EXPECT_EQ(*run->submission, SampleSubmission());
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

REGISTER_TYPED_TEST_SUITE_P(StoreContract, GivesBackEveryKindAsItWas,
                            WhatItGivesBackReplaysToTheSameCluster, NumbersGoOnAcrossOpens,
                            EveryOpenTakesAHigherGeneration, ReadsOneRunFromAPlaceOn,
                            AStoreThatWasTakenOverRefusesToWrite,
                            AFullDiskTakesNothingAndLaterEverything);

}  // namespace gp::coordinator
