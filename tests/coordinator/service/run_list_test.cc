// Goal: the pages list every run exactly once, even if runs are submitted, start and end between
// pages. A page costs the same however many runs have ended.
#include "coordinator/service/run_list.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>

#include "coordinator/control/replay.h"
#include "coordinator/store/many_runs.h"
#include "coordinator/store/memory_store.h"

namespace gp::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Names = std::vector<std::string>;

// Counts the rows that a list reads from the store.
class CountedStore final : public Store {
 public:
  explicit CountedStore(MemoryStore::Disk& disk) : store_(disk) {}

  uint64_t generation() const override { return store_.generation(); }
  StatusOr<uint64_t> Append(const std::vector<Event>& events) override {
    return store_.Append(events);
  }
  Status Load(const std::function<void(const StoredEvent&)>& visit) override {
    return store_.Load(visit);
  }
  StatusOr<std::vector<StoredEvent>> ReadRun(const RunId& run, uint64_t after, int limit) override {
    return store_.ReadRun(run, after, limit);
  }
  StatusOr<std::vector<EndedRun>> ListEnded(const RunQuery& query,
                                            const EndedRange& range) override {
    auto runs = store_.ListEnded(query, range);
    rows += runs.ok() ? runs->size() : 0;
    return runs;
  }

  size_t rows = 0;

 private:
  MemoryStore store_;
};

class RunListTest : public ::testing::Test {
 protected:
  void Do(const std::vector<Event>& events) {
    ASSERT_TRUE(store_.Append(events).ok());
    for (const Event& event : events) {
      const Status status = Apply(event, cluster_);
      ASSERT_TRUE(status.ok()) << status;
    }
  }
  void Submit(int number) {
    Do({SubmitOfMany(number), {IdOfMany(number), At(1), "scheduler", "", RunQueued{"it waits"}}});
  }
  void Place(int number) {
    const Epoch epoch = cluster_.FindRun(IdOfMany(number))->epoch + 1;
    Do({{IdOfMany(number), At(1), "scheduler", "",
         RunPlaced{.epoch = epoch, .reason = "it fits"}}});
  }
  void Requeue(int number) {
    const Epoch epoch = cluster_.FindRun(IdOfMany(number))->epoch;
    Do({{IdOfMany(number), At(1), "node n", "", RunRequeued{epoch, "the node is drained"}}});
  }
  void End(int number) {
    Event event = EndingOfMany(number);
    std::get<RunEnded>(event.body).set_aside = true;  // so that it can end in any state
    Do({event});
  }

  RunPage Page(const RunQuery& query, const std::string& token, size_t limit) {
    const auto page = RunList(cluster_, store_, query).Page(token, limit);
    EXPECT_TRUE(page.ok()) << page.status();
    return page.ok() ? *page : RunPage();
  }
  static Names IdsOf(const RunPage& page) {
    Names ids;
    for (const auto& run : page.runs) ids.push_back(run->id.value());
    return ids;
  }
  // The runs of all pages; `between` is called after each page.
  Names AllPages(
      const RunQuery& query, size_t limit, const std::function<void()>& between = [] {}) {
    Names ids;
    std::string token;
    do {
      const RunPage page = Page(query, token, limit);
      EXPECT_LE(page.runs.size(), limit);
      EXPECT_TRUE(page.next_page_token.empty() || page.runs.size() == limit);
      for (const std::string& id : IdsOf(page)) ids.push_back(id);
      token = page.next_page_token;
      between();
    } while (!token.empty());
    return ids;
  }
  static Names Ids(std::initializer_list<int> numbers) {
    Names ids;
    for (const int number : numbers) ids.push_back(IdOfMany(number).value());
    return ids;
  }

  MemoryStore::Disk disk_;
  CountedStore store_{disk_};
  Cluster cluster_;
};

TEST_F(RunListTest, WhatRunsIsOnTopThenWhatWaitsThenWhatHasEnded) {
  for (int number = 0; number < 8; ++number) Submit(number);
  Place(1);
  Place(4);
  Requeue(4);
  End(0);
  End(6);
  const Names expected = Ids({4, 1, 7, 5, 3, 2, 6, 0});
  for (size_t limit = 1; limit <= 9; ++limit) EXPECT_EQ(AllPages({}, limit), expected) << limit;
}

TEST_F(RunListTest, ARunThatRunsIsOnTheFirstPageWhateverWasSubmittedAfterIt) {
  Submit(0);
  Place(0);
  for (int number = 1; number <= 120; ++number) Submit(number);
  const RunPage page = Page({}, "", 100);
  EXPECT_EQ(page.runs.front()->id, IdOfMany(0));
  EXPECT_EQ(page.runs.size(), 100u);
  EXPECT_EQ(page.total, 121);
}

TEST_F(RunListTest, ARunThatEndsBetweenTwoPagesKeepsItsPlace) {
  for (int number = 0; number < 6; ++number) Submit(number);
  Place(0);
  Place(1);
  const RunPage first = Page({}, "", 1);
  EXPECT_EQ(IdsOf(first), Ids({1}));
  End(1);  // already on the first page
  End(0);  // not on the first page; it was started
  End(4);  // not on the first page; it was queued
  Place(2);
  Submit(6);
  const RunPage second = Page({}, first.next_page_token, 100);
  EXPECT_EQ(IdsOf(second), Ids({0, 5, 4, 3, 2}));
  EXPECT_EQ(second.next_page_token, "");
  EXPECT_EQ(second.total, 6) << "as the first page said";
}

// Makes random changes between pages; failure messages contain the seed.
TEST_F(RunListTest, NoRunIsListedTwiceOrMissedWhileRunsAreAddedAndEnd) {
  constexpr int kRunsMax = 120;
  int submitted = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    std::mt19937 random(seed);
    const auto act = [&] {
      for (int i = 0; i < 6; ++i) {
        const int number = submitted == 0 ? 0 : static_cast<int>(random() % submitted);
        const auto run = cluster_.FindRun(IdOfMany(number));
        const unsigned what = random() % 4;
        if (run == nullptr || (what == 0 && submitted < kRunsMax)) {
          Submit(submitted++);
        } else if (IsTerminal(run->state) || what == 0) {
          continue;
        } else if (what == 1 && random() % 3 == 0) {
          End(number);
        } else if (run->state == RunState::kQueued) {
          Place(number);
        } else {
          Requeue(number);
        }
      }
    };
    for (int i = 0; i < 5; ++i) act();
    Names existing;
    for (int number = 0; number < submitted; ++number) {
      existing.push_back(IdOfMany(number).value());
    }
    Names listed = AllPages({}, 1 + seed % 7, act);
    std::sort(listed.begin(), listed.end());
    EXPECT_EQ(listed, existing) << "seed " << seed;
  }
}

TEST_F(RunListTest, AFilterByStateShowsNoRunThatLeftTheStateAndMissesNoneThatStayed) {
  for (int number = 0; number < 40; ++number) Submit(number);
  for (int number = 0; number < 20; ++number) Place(number);
  const RunQuery starting{.states = {RunState::kStarting}};
  const RunPage first = Page(starting, "", 5);
  EXPECT_EQ(IdsOf(first), Ids({19, 18, 17, 16, 15}));
  EXPECT_EQ(first.total, 20);
  End(14);
  Place(30);
  EXPECT_EQ(IdsOf(Page(starting, first.next_page_token, 5)), Ids({13, 12, 11, 10, 9}));
  const RunQuery ended{.states = {RunState::kFailed, RunState::kSucceeded}};
  EXPECT_EQ(AllPages(ended, 5), Ids({14}));
  const RunQuery waiting{.states = {RunState::kQueued}};
  EXPECT_EQ(AllPages(waiting, 7).size(), 19u);
  EXPECT_THAT(AllPages({.states = {RunState::kRunning}}, 7), IsEmpty());
}

TEST_F(RunListTest, EveryFilterFindsWhatMatchesAmongLiveAndEndedRuns) {
  for (int number = 0; number < 60; ++number) Submit(number);
  for (int number = 0; number < 60; number += 4) Place(number);
  for (int number = 0; number < 60; number += 3) End(number);
  for (const RunQuery& query : ManyQueries()) {
    std::set<std::string> expected;
    cluster_.runs.ForEach([&](const RunId& id, const auto& run) {
      if (Matches(query, *run)) expected.insert(id.value());
    });
    for (const size_t limit : {1, 4, 100}) {
      const Names listed = AllPages(query, limit);
      EXPECT_EQ(std::set<std::string>(listed.begin(), listed.end()), expected)
          << CanonicalText(query);
      EXPECT_EQ(listed.size(), expected.size()) << CanonicalText(query);
    }
    const auto total = Page(query, "", 4).total;
    EXPECT_EQ(total.has_value(), query.IsCounted());
    EXPECT_EQ(total.value_or(static_cast<int64_t>(expected.size())), expected.size());
  }
}

TEST_F(RunListTest, ATokenIsGoodAfterARestart) {
  for (int number = 0; number < 10; ++number) Submit(number);
  Place(2);
  End(1);
  const RunPage first = Page({}, "", 4);
  End(2);
  End(3);
  cluster_ = *ReplayStore(store_);
  EXPECT_EQ(IdsOf(first), Ids({2, 9, 8, 7}));
  EXPECT_EQ(IdsOf(Page({}, first.next_page_token, 100)), Ids({6, 5, 4, 3, 0, 1}));
}

TEST_F(RunListTest, ATokenThatDoesNotFitIsRefusedInWords) {
  for (int number = 0; number < 3; ++number) Submit(number);
  const std::string token = Page({}, "", 1).next_page_token;
  const RunQuery sweeps{.search = "sweep"};
  const Status other = RunList(cluster_, store_, sweeps).Page(token, 1).status();
  EXPECT_EQ(other.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(other), HasSubstr("another filter"));
  const RunQuery all;
  const Status garbage = RunList(cluster_, store_, all).Page("17", 1).status();
  EXPECT_THAT(Message(garbage), HasSubstr("was not returned by List"));
  const Status early = RunList(Cluster(), store_, all).Page(token, 1).status();
  EXPECT_EQ(early.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(early), HasSubstr("restored from a backup"));
}

TEST_F(RunListTest, APageReadsNoMoreThanItShowsHoweverManyRunsHaveEnded) {
  for (int number = 0; number < 3000; ++number) {
    Do({SubmitOfMany(number), [&] {
          Event event = EndingOfMany(number);
          std::get<RunEnded>(event.body).set_aside = true;
          return event;
        }()});
  }
  Submit(3000);
  const RunPage first = Page({}, "", 50);
  EXPECT_EQ(store_.rows, 50u) << "49 and the one that tells of the next page";
  EXPECT_EQ(first.runs.size(), 50u);
  EXPECT_EQ(first.total, 3001);
  store_.rows = 0;
  EXPECT_EQ(Page({}, first.next_page_token, 50).runs.size(), 50u);
  EXPECT_EQ(store_.rows, 51u);
  store_.rows = 0;
  EXPECT_EQ(Page({.states = {RunState::kQueued}}, "", 50).runs.size(), 1u);
  EXPECT_EQ(store_.rows, 0u) << "nothing that has ended can match";
}

}  // namespace
}  // namespace gp::coordinator
