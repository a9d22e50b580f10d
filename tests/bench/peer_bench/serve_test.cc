// Goal: the results of gp-peer-bench serve follow from the measured times, and an event stream is
// read the same however it arrives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bench/peer_bench/event_reader.h"
#include "bench/peer_bench/load_summary.h"
#include "bench/peer_bench/serve_rounds.h"

namespace gp::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(EventReader, GivesTheDataOfEachEvent) {
  EventReader reader;
  EXPECT_THAT(reader.Feed("data: {\"a\":1}\n\ndata: [DONE]\n\n"),
              ElementsAre("{\"a\":1}", "[DONE]"));
}

TEST(EventReader, GivesTheSameHoweverTheStreamIsCut) {
  const std::string stream = ": ping\n\ndata: one\r\n\r\nid: 7\ndata:two\ndata: lines\n\n";
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    EventReader reader;
    std::vector<std::string> events = reader.Feed(stream.substr(0, cut));
    for (const std::string& event : reader.Feed(stream.substr(cut))) events.push_back(event);
    EXPECT_THAT(events, ElementsAre("one", "two\nlines")) << "cut at " << cut;
  }
}

TEST(EventReader, KeepsAnUnfinishedEventToItself) {
  EventReader reader;
  EXPECT_THAT(reader.Feed("data: half\n"), IsEmpty());
  EXPECT_THAT(reader.Feed("\n"), ElementsAre("half"));
}

TEST(LoadSummary, CountsAllTokensFromTheFirstRequestToTheLastEnd) {
  const std::vector<TextTiming> texts = {
      {.sent = 1, .first_byte = 1.5, .finished = 3, .tokens = 10},
      {.sent = 2, .first_byte = 2.25, .finished = 5, .tokens = 30}};
  const RoundRates rates = RatesOf(texts);
  EXPECT_DOUBLE_EQ(rates.tokens_per_second, 10);
  EXPECT_DOUBLE_EQ(rates.requests_per_second, 0.5);
  EXPECT_THAT(FirstByteMs(texts), ElementsAre(500, 250));
  EXPECT_EQ(RatesOf({}).tokens_per_second, 0);
}

TEST(LoadSummary, APercentileIsASample) {
  std::vector<double> samples;
  for (int i = 100; i >= 1; --i) samples.push_back(i);
  EXPECT_EQ(Percentile(samples, 0.5), 50);
  EXPECT_EQ(Percentile(samples, 0.99), 99);
  EXPECT_EQ(Percentile({7}, 0.99), 7);
  EXPECT_EQ(Percentile({}, 0.5), 0);
}

TEST(LoadSummary, RatiosAreTakenRoundByRound) {
  EXPECT_THAT(RatiosOf({10, 30}, {5, 10}), ElementsAre(2, 3));
}

TEST(ServeRounds, PromptsDifferWithinARoundAndRepeatWithIt) {
  const RoundOptions options{.texts = 32, .prompt = 16, .vocabulary = 65};
  const auto prompts = MakePrompts(options, 3);
  EXPECT_EQ(prompts, MakePrompts(options, 3));
  EXPECT_NE(prompts, MakePrompts(options, 4));
  EXPECT_EQ(std::set(prompts.begin(), prompts.end()).size(), 32u);
  for (const auto& prompt : prompts) {
    EXPECT_EQ(prompt.size(), 16u);
    EXPECT_THAT(prompt, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(65))));
  }
}

// Takes `seconds` for each round; every text is `missing` tokens too short.
class FakeServer : public TextServer {
 public:
  FakeServer(double seconds, int64_t missing) : seconds_(seconds), missing_(missing) {}
  std::string description() const override { return "a fake"; }
  StatusOr<LoadOutcome> Write(const TextRound& round) override {
    ++rounds;
    LoadOutcome outcome;
    for (size_t i = 0; i < round.prompts.size(); ++i) {
      outcome.texts.push_back(
          {.first_byte = 0.1, .finished = seconds_, .tokens = round.tokens - missing_});
    }
    return outcome;
  }
  int rounds = 0;

 private:
  const double seconds_;
  const int64_t missing_;
};

TEST(ServeRounds, EveryServerWritesEveryRoundAndWarmUpIsDropped) {
  FakeServer ours(1, 0), theirs(2, 0);
  const auto rounds = MeasureInTurn(
      {.streams = 2, .texts = 4, .tokens = 10, .vocabulary = 5, .rounds = 3, .warmup = 1},
      {&ours, &theirs});
  ASSERT_TRUE(rounds.ok()) << rounds.status();
  EXPECT_EQ(ours.rounds, 4);
  EXPECT_EQ(theirs.rounds, 4);
  EXPECT_THAT(rounds->at(0).tokens_per_second, ElementsAre(40, 40, 40));
  EXPECT_THAT(rounds->at(1).tokens_per_second, ElementsAre(20, 20, 20));
  EXPECT_EQ(rounds->at(0).first_byte_ms.size(), 12u);
  const Json json = ToJson(rounds->at(0));
  EXPECT_EQ(json["tokens_per_second"]["median"], 40);
  EXPECT_EQ(json["requests_per_second"]["median"], 4);
  EXPECT_EQ(json["first_byte_ms"]["p99"], 100);
}

TEST(ServeRounds, FailsIfAServerWritesTooShortTexts) {
  FakeServer ours(1, 1);
  const auto rounds =
      MeasureInTurn({.texts = 1, .tokens = 10, .vocabulary = 5, .rounds = 1}, {&ours});
  EXPECT_EQ(rounds.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(rounds.status()), testing::HasSubstr("9 tokens instead of 10"));
}

}  // namespace
}  // namespace gp::engine
