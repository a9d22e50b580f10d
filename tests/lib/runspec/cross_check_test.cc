// Goal: each rule is tested alone and at its limits: the last value that is allowed and the first
// that is not.
#include "runspec/cross_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace gp::runspec {
namespace {

using Change = std::function<void(RunSpec&)>;

// A valid spec.
RunSpec GoodSpec() {
  RunSpec spec;
  spec.data.text = {"a.txt"};
  spec.budget.steps = 100;
  spec.eval.every_steps = 10;
  spec.resources.workers = 2;
  return spec;
}

DataSpec Streamed() {
  return {.stream = {"a.jsonl"}, .val = {"b.txt"}, .order = BatchOrder::kSequential};
}

// The first key of each problem that the change causes.
std::vector<std::string> ProblemsAfter(const Change& change) {
  RunSpec spec = GoodSpec();
  change(spec);
  std::vector<std::string> keys;
  for (const CrossProblem& problem : CrossCheck(spec)) keys.push_back(problem.keys.front());
  return keys;
}

struct Rule {
  const char* key;  // the key that the error names
  Change allowed;
  Change refused;
};

const Rule kRules[] = {
    {"name", [](RunSpec& s) { s.name = std::string(63, 'a'); },
     [](RunSpec& s) { s.name = std::string(64, 'a'); }},
    {"name", [](RunSpec& s) { s.name = "a-._Z9"; }, [](RunSpec& s) { s.name = "a b"; }},
    {"name", [](RunSpec& s) { s.name = "_a"; }, [](RunSpec& s) { s.name = "-a"; }},
    {"name", [](RunSpec& s) { s.name = "a.b"; }, [](RunSpec& s) { s.name = ".a"; }},
    {"name", [](RunSpec& s) { s.name = "a"; }, [](RunSpec& s) { s.name = ""; }},
    {"model.n_embd", [](RunSpec& s) { s.model.channels = s.model.heads * 3; },
     [](RunSpec& s) { s.model.channels = s.model.heads * 3 + 1; }},
    {"batch.sequence", [](RunSpec& s) { s.batch.sequence = s.model.context; },
     [](RunSpec& s) { s.batch.sequence = s.model.context + 1; }},
    {"model.vocab",
     [](RunSpec& s) {
       s.vocabulary_auto = false;
       s.model.vocabulary = 256;
     },
     [](RunSpec& s) {
       s.vocabulary_auto = false;
       s.model.vocabulary = 255;
     }},
    {"data", [](RunSpec&) {}, [](RunSpec& s) { s.data.text.clear(); }},
    {"data.train",
     [](RunSpec& s) {
       s.data.text.clear();
       s.data.train = {"a.bin"};
     },
     [](RunSpec& s) { s.data.train = {"a.bin"}; }},
    {"data.stream", [](RunSpec& s) { s.data = Streamed(); },
     [](RunSpec& s) {
       s.data = Streamed();
       s.data.text = {"a.txt"};
     }},
    {"data.stream", [](RunSpec& s) { s.data = Streamed(); },
     [](RunSpec& s) {
       s.data = Streamed();
       s.data.train = {"a.bin"};
     }},
    {"data.order", [](RunSpec& s) { s.data = Streamed(); },
     [](RunSpec& s) {
       s.data = Streamed();
       s.data.order = BatchOrder::kShuffled;
     }},
    {"data.tokenizer", [](RunSpec& s) { s.data = Streamed(); },
     [](RunSpec& s) {
       s.data = Streamed();
       s.data.tokenizer = "chars";
     }},
    {"data.format", [](RunSpec& s) { s.data.format = DataFormat::kText; },
     [](RunSpec& s) { s.data.format = DataFormat::kJsonLines; }},
    {"data.format",
     [](RunSpec& s) {
       s.data = {.train = {"a.bin"}, .val = {"b.bin"}, .format = DataFormat::kUint16};
     },
     [](RunSpec& s) {
       s.data = {.train = {"a.bin"}, .val = {"b.bin"}, .format = DataFormat::kText};
     }},
    {"data.format",
     [](RunSpec& s) {
       s.data = Streamed();
       s.data.format = DataFormat::kJsonLines;
     },
     [](RunSpec& s) {
       s.data = Streamed();
       s.data.format = DataFormat::kUint16;
     }},
    {"data.split",
     [](RunSpec& s) {
       s.data = Streamed();
       s.data.split = DocumentSplit::kLine;
     },
     [](RunSpec& s) { s.data.text_field = "content"; }},
    {"data.split_on",
     [](RunSpec& s) {
       s.data.tokenizer = "gpt2";
       s.data.split_on = "<|endoftext|>";
     },
     [](RunSpec& s) {
       s.data.tokenizer = "bytes";
       s.data.split_on = "<|endoftext|>";
     }},
    {"data.split_on",
     [](RunSpec& s) {
       s.data = Streamed();
       s.data.tokenizer = "gpt2";
       s.data.split_on = "|";
     },
     [](RunSpec& s) {
       s.data = Streamed();
       s.data.tokenizer = "gpt2";
       s.data.split_on = "|";
       s.data.split = DocumentSplit::kLine;
     }},
    {"data.split_on",
     [](RunSpec& s) { s.data = {.train = {"a.bin"}, .val = {"b.bin"}, .tokenizer = "gpt2"}; },
     [](RunSpec& s) {
       s.data = {
           .train = {"a.bin"}, .val = {"b.bin"}, .tokenizer = "gpt2", .split_on = "<|endoftext|>"};
     }},
    {"data.weights",
     [](RunSpec& s) {
       s.data = {.train = {"a.bin", "b.bin"}, .val = {"c.bin"}, .weights = {1, 2}};
     },
     [](RunSpec& s) {
       s.data = {.train = {"a.bin", "b.bin"}, .val = {"c.bin"}, .weights = {1}};
     }},
    {"data.weights",
     [](RunSpec& s) {
       s.data.train = std::vector<std::string>(64, "a.bin");
       s.data.weights = std::vector<double>(64, 1);
       s.data.text.clear();
     },
     [](RunSpec& s) {
       s.data.train = std::vector<std::string>(65, "a.bin");
       s.data.weights = std::vector<double>(65, 1);
       s.data.text.clear();
     }},
    {"data.order",
     [](RunSpec& s) {
       s.data = {.train = {"a.bin"}, .order = BatchOrder::kShuffled, .weights = {1}};
     },
     [](RunSpec& s) {
       s.data = {.train = {"a.bin"}, .order = BatchOrder::kSequential, .weights = {1}};
     }},
    {"data.val", [](RunSpec& s) { s.data = {.train = {"a.bin"}, .val = {"b.bin"}}; },
     [](RunSpec& s) { s.data.val = {"b.bin"}; }},
    {"resources.min_workers", [](RunSpec& s) { s.resources.min_workers = 2; },
     [](RunSpec& s) { s.resources.min_workers = 3; }},
    {"resources.max_workers", [](RunSpec& s) { s.resources.max_workers = 2; },
     [](RunSpec& s) { s.resources.max_workers = 1; }},
    {"resources.gpus",
     [](RunSpec& s) {
       s.resources.device = "gpu";
       s.resources.gpus = 2;
     },
     [](RunSpec& s) {
       s.resources.device = "gpu";
       s.resources.gpus = 1;
     }},
    {"batch.total_tokens", [](RunSpec& s) { s.batch.total_tokens = 2 * 8 * 128 * 3; },
     [](RunSpec& s) { s.batch.total_tokens = 2 * 8 * 128 * 3 + 1; }},
    {"batch.ramp_from_tokens",
     [](RunSpec& s) {
       s.batch.ramp_from_tokens = 2 * 8 * 128;
       s.batch.ramp_steps = 4;
     },
     [](RunSpec& s) { s.batch.ramp_from_tokens = 2 * 8 * 128; }},
    {"batch.ramp_from_tokens",
     [](RunSpec& s) {
       s.batch.total_tokens = s.batch.ramp_from_tokens = 2 * 8 * 128 * 2;
       s.batch.ramp_steps = 4;
     },
     [](RunSpec& s) {
       s.batch.total_tokens = 2 * 8 * 128 * 2;
       s.batch.ramp_from_tokens = 2 * 8 * 128 * 3;
       s.batch.ramp_steps = 4;
     }},
    {"batch.micro_batch",
     [](RunSpec& s) {
       s.batch.micro_batch_auto = true;
       s.batch.total_tokens = 2 * 128 * 8;
     },
     [](RunSpec& s) { s.batch.micro_batch_auto = true; }},
    {"schedule.warmup_tokens", [](RunSpec& s) { s.schedule.warmup_tokens = 1; },
     [](RunSpec& s) { s.schedule.warmup_steps = s.schedule.warmup_tokens = 1; }},
    {"schedule.decay_tokens", [](RunSpec& s) { s.schedule.decay_tokens = 1; },
     [](RunSpec& s) { s.schedule.decay_steps = s.schedule.decay_tokens = 1; }},
    {"schedule.warmup_tokens",
     [](RunSpec& s) { s.schedule.warmup_steps = s.schedule.decay_tokens = 1; },
     [](RunSpec& s) {
       s.schedule.warmup_steps = s.schedule.warmup_tokens = s.schedule.decay_steps = 1;
     }},
    {"schedule.decay_tokens",
     [](RunSpec& s) { s.schedule.warmup_tokens = s.schedule.decay_steps = 1; },
     [](RunSpec& s) {
       s.schedule.warmup_tokens = s.schedule.decay_steps = s.schedule.decay_tokens = 1;
     }},
    {"eval.patience", [](RunSpec& s) { s.eval.patience = 1; },
     [](RunSpec& s) {
       s.eval.patience = 1;
       s.eval.every_steps = 0;
     }},
    {"eval.patience",
     [](RunSpec& s) {
       s.eval.patience = 1;
       s.data = {.train = {"a.bin"}, .val = {"b.bin"}};
     },
     [](RunSpec& s) {
       s.eval.patience = 1;
       s.data.val_fraction = 0;
     }},
    {"budget.steps", [](RunSpec& s) { s.budget = {.steps = 0, .tokens = 1}; },
     [](RunSpec& s) { s.budget = {}; }},
    {"budget.steps", [](RunSpec& s) { s.budget = {.wall_time = std::chrono::seconds(1)}; },
     [](RunSpec& s) { s.budget = {}; }},
    {"retries.backoff", [](RunSpec& s) { s.retries.backoff_max = s.retries.backoff; },
     [](RunSpec& s) { s.retries.backoff_max = s.retries.backoff - std::chrono::nanoseconds(1); }},
};

TEST(CrossCheck, EachRuleHoldsByItselfAndAtItsEdge) {
  for (const Rule& rule : kRules) {
    const auto number = &rule - kRules;
    EXPECT_THAT(ProblemsAfter(rule.allowed), ::testing::IsEmpty())
        << "rule " << number << ", " << rule.key;
    EXPECT_THAT(ProblemsAfter(rule.refused), ::testing::ElementsAre(rule.key)) << "rule " << number;
  }
}

// The first key of each warning that the change causes.
std::vector<std::string> WarningsAfter(const Change& change) {
  RunSpec spec = GoodSpec();
  change(spec);
  std::vector<std::string> keys;
  for (const CrossProblem& warning : CrossWarnings(spec)) keys.push_back(warning.keys.front());
  return keys;
}

TEST(CrossCheck, WarnsOfALongWarmUpAndOfACheckpointThatNeverComes) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  EXPECT_THAT(WarningsAfter([](RunSpec& s) { s.schedule.warmup_steps = 33; }), IsEmpty());
  EXPECT_THAT(WarningsAfter([](RunSpec& s) { s.schedule.warmup_steps = 34; }),
              ElementsAre("schedule.warmup_steps"));
  EXPECT_THAT(
      WarningsAfter([](RunSpec& s) { s.checkpoint = {.every_steps = 100, .every_auto = false}; }),
      IsEmpty());
  EXPECT_THAT(
      WarningsAfter([](RunSpec& s) { s.checkpoint = {.every_steps = 101, .every_auto = false}; }),
      ElementsAre("checkpoint.every"));
  EXPECT_THAT(WarningsAfter([](RunSpec& s) { s.data = {.train = {"a.bin"}}; }),
              ElementsAre("data.train"));
  EXPECT_THAT(WarningsAfter([](RunSpec& s) {
                s.data = Streamed();
                s.data.val.clear();
              }),
              ElementsAre("data.train"));
}

}  // namespace
}  // namespace gp::runspec
