#include "runspec/run_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "plan/memory_forecast.h"
#include "runspec/batch_plan.h"
#include "runspec/explain.h"
#include "runspec/schema.h"

namespace gp::runspec {
namespace {

using ::testing::HasSubstr;

constexpr const char* kGood = R"(apiVersion: gp/v1
name: demo
data: {text: [a.txt]}
budget: {steps: 100}
)";

RunSpec Load(const std::string& text, const std::vector<std::string>& overrides = {},
             const LoadOptions& options = {}) {
  RunFileResult result = LoadRunFile(text, "run.yaml", overrides, options);
  EXPECT_TRUE(result.spec.has_value()) << RenderProblems(result.problems);
  return result.spec.value_or(RunSpec{});
}

std::vector<ConfigProblem> Problems(const std::string& text,
                                    const std::vector<std::string>& overrides = {}) {
  const RunFileResult result = LoadRunFile(text, "run.yaml", overrides);
  EXPECT_FALSE(result.spec.has_value());
  EXPECT_FALSE(result.problems.empty());
  return result.problems;
}

TEST(RunFile, LaterLayersWinOverEarlierOnes) {
  const std::string text = std::string(kGood) + "preset: tiny\noptimizer: {lr: 2e-3}\n";
  EXPECT_EQ(Load(kGood).optimizer.beta2, 0.95);
  EXPECT_EQ(Load(text).optimizer.beta2, 0.99);
  EXPECT_EQ(Load(text).optimizer.lr, 2e-3);
  EXPECT_EQ(Load(text, {"optimizer.lr=3e-3"}).optimizer.lr, 3e-3);
  EXPECT_EQ(Load(text, {"preset=shakespeare-char"}).model.context, 64);
}

TEST(RunFile, AFilesBudgetReplacesThePresets) {
  EXPECT_EQ(Load("preset: tiny\ndata: {text: [a]}\nbudget: {tokens: 10B}\n").budget.steps, 0);
  EXPECT_EQ(Load("preset: tiny\ndata: {text: [a]}\n").budget.steps, 2000);
}

TEST(RunFile, ReadsEveryType) {
  const RunSpec spec = Load(std::string(kGood) + R"(
model: {vocab: 300, bias: false, gelu: erf}
batch: {micro_batch: 2, sequence: 64, total_tokens: 2^13}
schedule: {kind: wsd, warmup_steps: 0.01k}
retries: {backoff: 250ms, backoff_max: 1m30s}
labels: {team: blue, tier: '1'}
seed: 18446744073709551615
sample: {prompt: "two\nlines"}
)");
  EXPECT_EQ(spec.model.vocabulary, 300);
  EXPECT_FALSE(spec.vocabulary_auto);
  EXPECT_FALSE(spec.model.bias);
  EXPECT_EQ(spec.model.gelu, Gelu::kErf);
  EXPECT_EQ(spec.batch.total_tokens, 8192);
  EXPECT_EQ(spec.schedule.kind, ScheduleKind::kWsd);
  EXPECT_EQ(spec.schedule.warmup_steps, 10);
  EXPECT_EQ(spec.retries.backoff, std::chrono::milliseconds(250));
  EXPECT_EQ(spec.retries.backoff_max, std::chrono::seconds(90));
  EXPECT_EQ(spec.labels, (std::map<std::string, std::string>{{"team", "blue"}, {"tier", "1"}}));
  EXPECT_EQ(spec.seed, UINT64_MAX);
  EXPECT_EQ(spec.sample.prompt, "two\nlines");
}

TEST(RunFile, ResolvesPathsAgainstWhereTheyWereWritten) {
  const LoadOptions options{.base_directory = "/runs", .override_directory = "/home/me"};
  EXPECT_EQ(Load(kGood, {}, options).data.text, std::vector<std::string>{"/runs/a.txt"});
  EXPECT_EQ(Load(kGood, {"data.text=../b.txt"}, options).data.text,
            std::vector<std::string>{"/home/b.txt"});
  EXPECT_EQ(Load(kGood, {"data.text=/abs/c.txt"}, options).data.text,
            std::vector<std::string>{"/abs/c.txt"});
  EXPECT_EQ(Load(kGood).data.text, std::vector<std::string>{"a.txt"});
}

TEST(RunFile, AnAddressOfAnotherStorageIsNoPath) {
  for (const char* key : {"data.text", "data.train", "data.stream", "data.val", "data.tokenizer",
                          "eval.tasks", "init_from"}) {
    const auto result =
        LoadRunFile("apiVersion: gp/v1\n", "run.yaml", {std::string(key) + "=s3://bucket/x.txt"},
                    {.base_directory = "/here",
                     .override_directory = "/here",
                     .find_initial_model = [](const std::string&, const std::string&) {
                       ADD_FAILURE() << "an address was looked at";
                       return StatusOr<InitialModel>(NotFound("no model"));
                     }});
    EXPECT_NE(RenderProblems(result.problems).find("'s3://bucket/x.txt' is an address, not a path"),
              std::string::npos)
        << key << RenderProblems(result.problems);
  }
  const auto located =
      LoadRunFile("apiVersion: gp/v1\ndata:\n  text: [a.txt, https://host/b.txt]\n", "run.yaml");
  EXPECT_THAT(RenderProblems(located.problems), HasSubstr("run.yaml:3:17: data.text: 'https:"));
}

TEST(RunFile, ATokenizerIsAWordOrAPath) {
  const LoadOptions options{.base_directory = "/runs", .override_directory = "/home/me"};
  const auto tokenizer = [&](const std::string& value) {
    return Load(kGood, {"data.tokenizer=" + value}, options).data.tokenizer;
  };
  EXPECT_EQ(tokenizer("gpt2"), "gpt2");
  EXPECT_EQ(tokenizer("tokenizer.json"), "/home/me/tokenizer.json");
  EXPECT_EQ(tokenizer("../mine"), "/home/mine");
  EXPECT_EQ(tokenizer("/abs/mine"), "/abs/mine");
  const auto problems = Problems(kGood, {"data.tokenizer=gpt3"});
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].message, HasSubstr("bytes, chars, gpt2, or a path with a '/'"));
  EXPECT_THAT(problems[0].hint, HasSubstr("did you mean 'gpt2'?"));
}

TEST(RunFile, FillsWhatFollows) {
  const RunSpec spec =
      Load(std::string(kGood) + "resources: {workers: 3}\nmodel: {pad_vocab_to: 100}\n");
  EXPECT_EQ(spec.resources.min_workers, 3);
  EXPECT_EQ(spec.resources.max_workers, 3);
  EXPECT_EQ(spec.batch.total_tokens, 4 * 8 * 128);
  EXPECT_EQ(spec.model.vocabulary_padded, 300);
}

TEST(RunFile, ResolvedTextLoadsToAnEqualSpec) {
  const std::string texts[] = {
      kGood,
      std::string(kGood) +
          "preset: gpt2-124m\nlabels: {a b: \"c: d\", x: 'null', n: '12'}\n"
          "sample: {prompt: \"quote \\\" slash \\\\ tab \\t end\"}\nseed: 18446744073709551615\n"
          "retries: {backoff: 1.5ms}\noptimizer: {lr: 0.1234567890123456789}\n"
          "model: {vocab: 777}\n",
  };
  for (const std::string& text : texts) {
    const RunSpec spec = Load(text, {"data.text=[a b.txt,\"c,d.txt\",'#x']"});
    const std::string resolved = ResolvedYaml(spec);
    EXPECT_EQ(Load(resolved), spec) << resolved;
    EXPECT_EQ(ResolvedYaml(Load(resolved)), resolved);
    for (const std::string& path : SchemaPaths()) {
      if (path == "preset") continue;
      EXPECT_THAT(resolved, HasSubstr(path.substr(path.rfind('.') + 1) + ": ")) << path;
    }
  }
}

TEST(RunFile, AnyTextSurvivesTheResolvedForm) {
  for (const std::string prompt :
       {"", " ", "é € 😀", "a\u2028b\u0085c\ufeff", "\r\n\t\x01\x7f", "a: b # c", "- x", "~", "null",
        "true", "1e3", "{a}", "'", "\"\\\"", "%", "@", "&a", "*a", "two  spaces "}) {
    const RunSpec spec = Load(kGood, {"sample.prompt=" + prompt, "labels.k=" + prompt});
    EXPECT_EQ(spec.sample.prompt, prompt);
    EXPECT_EQ(Load(ResolvedYaml(spec)), spec) << ResolvedYaml(spec);
  }
}

TEST(RunFile, PointsAtAnUnknownKeyAndNamesTheNearestOne) {
  const auto problems = Problems(std::string(kGood) + "optimizer:\n  learning_rate: 6e-4\n");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(RenderProblems(problems),
            "error: run.yaml:6:3: unknown key 'optimizer.learning_rate'\n"
            "     6 |   learning_rate: 6e-4\n"
            "       |   ^^^^^^^^^^^^^ did you mean 'optimizer.lr'?\n");
}

TEST(RunFile, ReportsEveryProblemAtOnce) {
  const auto problems = Problems(R"(name: demo
modle: {n_layer: 4}
model: {n_layer: four, n_head: 0, gelu: tahn}
budget: {steps: 10, steps: 20}
data: [a.txt]
seed:
)");
  const std::string text = RenderProblems(problems);
  EXPECT_EQ(problems.size(), 7u) << text;
  EXPECT_THAT(text, HasSubstr("run.yaml:2:1: unknown key 'modle'"));
  EXPECT_THAT(text, HasSubstr("did you mean 'model'?"));
  EXPECT_THAT(text, HasSubstr("run.yaml:3:18: model.n_layer must be a whole number of at least 1"));
  EXPECT_THAT(text, HasSubstr("not 'four'"));
  EXPECT_THAT(text, HasSubstr("run.yaml:3:32: model.n_head"));
  EXPECT_THAT(text, HasSubstr("did you mean 'tanh'?"));
  EXPECT_THAT(text, HasSubstr("run.yaml:4:21: 'budget.steps' is given twice"));
  EXPECT_THAT(text, HasSubstr("run.yaml:5:7: data is a group of keys, not a list"));
  EXPECT_THAT(text, HasSubstr("seed has no value"));
}

TEST(RunFile, ReportsOverridesWithTheirOwnPlace) {
  const auto problems = Problems(
      kGood, {"batch.micro_batch=many", "optimzer.lr=1", "nonsense", "model=5", "precision=fp64"});
  ASSERT_EQ(problems.size(), 5u) << RenderProblems(problems);
  EXPECT_EQ(problems[0].source, "--set batch.micro_batch");
  EXPECT_EQ(problems[0].line, 0);
  EXPECT_THAT(problems[0].message, HasSubstr("not 'many'"));
  EXPECT_THAT(problems[1].hint, HasSubstr("optimizer.lr"));
  EXPECT_THAT(problems[2].message, HasSubstr("key=value"));
  EXPECT_THAT(problems[3].message, HasSubstr("group"));
  EXPECT_THAT(problems[4].message, HasSubstr("fp32, bf16"));
}

// The override's text would be part of the resolved run file, which is UTF-8.
TEST(RunFile, AnOverrideInAnotherEncodingIsRefused) {
  for (const char* entry : {"init_from=caf\xe9", "labels.caf\xe9=1", "name=a\xff",
                            "data.text=[caf\xe9.txt]", "labels.a=\xc3"}) {
    const auto problems = Problems(kGood, {entry});
    ASSERT_EQ(problems.size(), 1u) << RenderProblems(problems);
    EXPECT_EQ(problems[0].source, "--set");
    EXPECT_THAT(problems[0].message, HasSubstr("is not UTF-8"));
  }
  EXPECT_EQ(Load(kGood, {"labels.a=café"}).labels.at("a"), "café");
}

// The memory in bytes that a list of problems takes.
size_t SizeOf(const std::vector<ConfigProblem>& problems) {
  size_t bytes = 0;
  for (const ConfigProblem& problem : problems) {
    bytes += sizeof problem + problem.source.capacity() + problem.key.capacity() +
             problem.message.capacity() + problem.hint.capacity() + problem.excerpt.capacity();
  }
  return bytes;
}

std::string Repeated(std::string_view piece, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += piece;
  return text;
}

TEST(RunFile, ALongListOfProblemsStaysShort) {
  const size_t bytes = 1 << 19;
  for (const std::string& text :
       {"{" + Repeated("learning_rate: 1, ", bytes) + "}", Repeated("name: a\n", bytes),
        "{" + std::string(bytes, 'k') + ": 1, name: " + std::string(bytes, 'v') + "}",
        "data: [" + Repeated("a,", bytes / 8) + "]",
        "model: {" + Repeated("n_layer: x, ", bytes) + "}",
        "labels: {" + Repeated("a: [b], ", bytes / 8) + "}"}) {
    const auto problems = Problems(text);
    EXPECT_LE(problems.size(), 101u);
    EXPECT_LT(SizeOf(problems), 100'000u) << text.substr(0, 30);
    EXPECT_LT(RenderProblems(problems).size(), 20'000u) << text.substr(0, 30);
  }
}

TEST(RunFile, ThousandsOfBadOverridesAreCounted) {
  std::vector<std::string> overrides;
  for (int i = 0; i < 6000; ++i) overrides.push_back(fmt::format("optimizer.lrr{}=1", i));
  overrides.push_back(std::string(65'000, 'k') + "=" + std::string(65'000, 'v'));
  overrides.push_back(std::string(65'000, 'k'));
  const auto problems = Problems(kGood, overrides);
  EXPECT_EQ(problems.size(), 101u);
  EXPECT_EQ(CountProblems(problems), 6002u);
  EXPECT_LT(SizeOf(problems), 100'000u);
  const auto longest = Problems(kGood, {overrides[6000], overrides[6001], "name=" + overrides[6001],
                                        "optimizer.lr=" + overrides[6001]});
  EXPECT_LT(RenderProblems(longest).size(), 4000u) << RenderProblems(longest);
}

TEST(RunFile, PointsBehindMultiByteText) {
  const auto problems = Problems("{name: x, labels: {größe: klein}, nonsense: 1}");
  EXPECT_EQ(RenderProblems({problems[0]}),
            "error: run.yaml:1:35: unknown key 'nonsense'\n"
            "     1 | {name: x, labels: {größe: klein}, nonsense: 1}\n"
            "       |                                   ^^^^^^^^\n");
}

TEST(RunFile, AnUnreadableFileWithAPresetOverriddenIsAProblem) {
  const auto problems = Problems("name: [", {"preset=tiny"});
  EXPECT_THAT(problems[0].message, HasSubstr("not valid YAML"));
}

TEST(RunFile, ImpossibleBatchArithmeticNamesTheNearestSizes) {
  const auto problems = Problems(std::string(kGood) +
                                 "resources: {workers: 8}\n"
                                 "batch: {micro_batch: 64, sequence: 128, total_tokens: 500000}\n");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].line, 6);
  EXPECT_EQ(problems[0].key, "batch.total_tokens");
  EXPECT_THAT(problems[0].hint, HasSubstr("458,752 or 524,288"));
}

TEST(RunFile, CrossChecksPointAtWhatSomebodyWrote) {
  const auto wide = Problems(std::string(kGood) + "model:\n  n_head: 6\n");
  ASSERT_EQ(wide.size(), 1u);
  EXPECT_EQ(wide[0].line, 6);
  EXPECT_THAT(wide[0].hint, HasSubstr("126 or 132"));
  EXPECT_THAT(Problems("name: x\n")[0].message, HasSubstr("nothing to train on"));
  EXPECT_THAT(Problems("data: {text: [a]}\n")[0].message, HasSubstr("no end"));
  EXPECT_THAT(Problems(kGood, {"batch.sequence=4096"})[0].source, "--set batch.sequence");
  EXPECT_THAT(Problems(kGood, {"data.train=x.bin"})[0].message, HasSubstr("exclude each other"));
  EXPECT_THAT(Problems(kGood, {"name=../up"})[0].message, HasSubstr("cannot be a run's name"));
  EXPECT_THAT(Problems(kGood, {"namespace=a/b"})[0].message, HasSubstr("cannot be a namespace"));
  EXPECT_THAT(Problems(kGood, {"resources.min_workers=2"})[0].message, HasSubstr("min_workers"));
}

TEST(RunFile, CrossChecksAreShownBesideOtherErrorsWhereTheirValuesAreKnown) {
  const auto both = Problems(std::string(kGood) + "model: {n_head: 6}\neval: {every: often}\n");
  ASSERT_EQ(both.size(), 2u) << RenderProblems(both);
  EXPECT_THAT(both[0].message, HasSubstr("eval.every must be"));
  EXPECT_THAT(both[1].message, HasSubstr("not a multiple of model.n_head"));
  // An invalid group, or an unknown key, is reported alone: what depends on its values is not
  // checked.
  EXPECT_EQ(Problems(std::string(kGood) + "model: {n_head: 6, gelu: tahn}\n").size(), 1u);
  EXPECT_EQ(Problems("data: {text: [a]}\nbudgte: {steps: 10}\n").size(), 1u);
}

TEST(RunFile, TwoWaysToSayOneThingExcludeEachOtherInOnePlace) {
  const auto problems = Problems(std::string(kGood) +
                                 "schedule:\n  warmup_steps: 5\n  warmup_tokens: 1M\n"
                                 "  decay_steps: 50\n  decay_tokens: 5M\n");
  ASSERT_EQ(problems.size(), 2u) << RenderProblems(problems);
  EXPECT_EQ(problems[0].line, 7);
  EXPECT_EQ(problems[0].hint, "keep one of them; schedule.warmup_steps is on line 6");
  EXPECT_EQ(problems[1].line, 9);
  EXPECT_EQ(problems[1].hint, "keep one of them; schedule.decay_steps is on line 8");
}

TEST(RunFile, ALaterLayersWayToSayItReplacesTheEarlierOne) {
  const std::string text = "preset: gpt2-124m\ndata: {train: [a], val: [b]}\n";
  EXPECT_EQ(Load(text).schedule.warmup_steps, 715);
  const RunSpec tokens = Load(text + "schedule: {warmup_tokens: 375M}\n");
  EXPECT_EQ(tokens.schedule.warmup_steps, 0);
  EXPECT_EQ(tokens.schedule.warmup_tokens, 375'000'000);
  const RunSpec steps =
      Load(text + "schedule: {warmup_tokens: 375M}\n", {"schedule.warmup_steps=9"});
  EXPECT_EQ(steps.schedule.warmup_steps, 9);
  EXPECT_EQ(steps.schedule.warmup_tokens, 0);
  EXPECT_EQ(Load(ResolvedYaml(tokens)), tokens);
}

TEST(RunFile, CombinationsThatAnEngineCannotDoNameBothKeys) {
  const std::string file = std::string(kGood) + "precision: bf16\nengine:\n  kind: reference\n";
  for (const std::string key : {"recompute=gelu", "recompute=block", "chunked_head=64",
                                "residual=bf16", "stochastic_rounding=true"}) {
    const auto problems = Problems(file, {"engine." + key});
    ASSERT_EQ(problems.size(), 2u) << RenderProblems(problems);
    EXPECT_EQ(problems[0].message, "precision: bf16 is not possible with engine.kind: reference");
    EXPECT_THAT(problems[1].message, HasSubstr("engine.kind: reference"));
    EXPECT_THAT(problems[1].hint, HasSubstr("engine.kind is on line 7"));
  }
  for (const std::string key : {"residual=bf16", "stochastic_rounding=true"}) {
    EXPECT_THAT(Problems(kGood, {"engine." + key})[0].message, HasSubstr("needs precision: bf16"));
  }
}

TEST(RunFile, WhatOnlyGpusCanDoIsRefusedOnCpus) {
  for (const std::string setting : {"precision=tf32", "precision=fp16", "precision=fp8",
                                    "engine.attention=cudnn", "engine.zero1=true"}) {
    const auto problems = Problems(kGood, {setting});
    ASSERT_EQ(problems.size(), 1u) << RenderProblems(problems);
    EXPECT_THAT(problems[0].message, HasSubstr("is not possible with resources.device: cpu"));
    EXPECT_THAT(problems[0].hint, HasSubstr("resources.device"));
    Load(kGood, {setting, "resources.device=gpu"});
    const auto automatic = LoadRunFile(kGood, "run.yaml", {setting, "resources.device=auto"});
    ASSERT_EQ(automatic.warnings.size(), 1u) << setting;
    EXPECT_THAT(automatic.warnings[0].message, HasSubstr("needs a GPU"));
    EXPECT_THAT(automatic.warnings[0].hint, HasSubstr("to allow CPUs"));
  }
  EXPECT_THAT(
      Problems(kGood, {"engine.zero1=true", "resources.device=gpu", "optimizer.kind=muon"})[0]
          .message,
      HasSubstr("optimizer.kind: muon"));
  Load(kGood, {"precision=fp8", "resources.device=gpu", "engine.residual=bf16"});
}

TEST(RunFile, OptionsOfMuonNeedMuonOnACpu) {
  for (const std::string key : {"optimizer.muon_row_scaling", "optimizer.muon_cautious_decay"}) {
    EXPECT_THAT(Problems(kGood, {key + "=true"})[0].message, HasSubstr("needs optimizer.kind"));
    EXPECT_THAT(
        Problems(kGood, {key + "=true", "optimizer.kind=muon", "resources.device=gpu"})[0].message,
        HasSubstr("needs resources.device: cpu"));
    Load(kGood, {key + "=true", "optimizer.kind=muon"});
  }
}

TEST(RunFile, APowerNeedsItsSchedule) {
  EXPECT_THAT(Problems(kGood, {"schedule.power=0.5", "schedule.kind=linear"})[0].message,
              HasSubstr("no effect without schedule.kind: power"));
  Load(kGood, {"schedule.power=0.5", "schedule.kind=power"});
}

TEST(RunFile, EachRankTakesOneGpu) {
  EXPECT_THAT(Problems(kGood, {"resources.gpus=2"})[0].message,
              HasSubstr("needs resources.device: gpu"));
  EXPECT_THAT(
      Problems(kGood, {"resources.gpus=5", "resources.device=gpu", "resources.workers=2"})[0]
          .message,
      HasSubstr("each rank takes one GPU"));
  Load(kGood, {"resources.gpus=2", "resources.device=auto", "resources.workers=2"});
}

TEST(RunFile, ABatchRampIsCheckedAgainstTheFullBatch) {
  const auto message = [](const std::vector<std::string>& overrides) {
    std::vector<std::string> all = {"batch.micro_batch=2", "batch.total_tokens=2048"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return Problems(kGood, all)[0].message;
  };
  EXPECT_THAT(message({"batch.ramp_steps=5"}), HasSubstr("need each other"));
  EXPECT_THAT(message({"batch.ramp_from_tokens=256"}), HasSubstr("need each other"));
  EXPECT_THAT(message({"batch.ramp_from_tokens=300", "batch.ramp_steps=5"}),
              HasSubstr("not a multiple of 1 logical shard x 2 sequences x 128 tokens = 256"));
  EXPECT_THAT(message({"batch.ramp_from_tokens=4096", "batch.ramp_steps=5"}),
              HasSubstr("more than the 2,048"));
  EXPECT_THAT(
      message({"batch.ramp_from_tokens=256", "batch.ramp_steps=5", "batch.micro_batch=auto"}),
      HasSubstr("whole micro-batches"));
  EXPECT_THAT(Problems(kGood, {"batch.micro_batch=auto"})[0].message,
              HasSubstr("needs batch.total_tokens"));
}

TEST(RunFile, ASuggestionToFitKeepsTheBatchThatTheFileDescribes) {
  const std::string text = std::string(kGood) + "batch: {micro_batch: 8, sequence: 64}\n";
  const RunSpec spec = Load(text);
  const BatchPlan plan = *PlanBatch(spec);
  const int64_t bytes = ForecastMemory(spec, plan, 1).total_bytes();
  const auto fit = SuggestFit(spec, plan, 1, bytes - 1);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->settings, "batch.micro_batch=4, batch.total_tokens=512");
  const RunSpec changed = Load(text, {"batch.micro_batch=4", "batch.total_tokens=512"});
  EXPECT_EQ(PlanBatch(changed)->tokens_per_step, plan.tokens_per_step);
}

TEST(RunFile, AutomaticPrecisionIsExactOnCpus) {
  EXPECT_EQ(Load(kGood).precision, Precision::kFp32);
  EXPECT_EQ(Load(kGood, {"precision=bf16"}).precision, Precision::kBf16);
  EXPECT_EQ(Load(kGood, {"resources.device=auto"}).precision, Precision::kAuto);
}

TEST(RunFile, AnAutomaticFlagFollowsTheDevice) {
  EXPECT_EQ(Load(kGood).deterministic, true);
  EXPECT_EQ(Load(kGood, {"resources.device=gpu"}).deterministic, false);
  EXPECT_EQ(Load(kGood, {"resources.device=auto"}).deterministic, std::nullopt);
  EXPECT_EQ(Load(kGood, {"resources.device=gpu", "deterministic=true"}).deterministic, true);
  EXPECT_EQ(Load(kGood, {"deterministic=false"}).deterministic, false);
  EXPECT_THAT(Problems(kGood, {"deterministic=maybe"})[0].message,
              HasSubstr("auto, true or false"));
}

TEST(RunFile, EarlyStoppingNeedsEvaluations) {
  EXPECT_THAT(Problems(kGood, {"eval.patience=3"})[0].message, HasSubstr("eval.every is 0"));
  EXPECT_THAT(
      Problems(kGood, {"eval.patience=3", "eval.every=10", "data.val_fraction=0"})[0].message,
      HasSubstr("validation split"));
}

TEST(RunFile, SavingOnImprovementsNeedsEvaluationsAndKeepsThem) {
  EXPECT_TRUE(Load(kGood, {"checkpoint.on_best=true", "eval.every=10"}).checkpoint.on_best);
  EXPECT_THAT(Problems(kGood, {"checkpoint.on_best=true"})[0].message,
              HasSubstr("eval.every is 0"));
  EXPECT_THAT(
      Problems(kGood, {"checkpoint.on_best=true", "eval.every=10", "data.val_fraction=0"})[0]
          .message,
      HasSubstr("validation split"));
  EXPECT_THAT(
      Problems(kGood, {"checkpoint.on_best=true", "eval.every=10", "checkpoint.keep_best=false"})[0]
          .message,
      HasSubstr("removes again"));
}

TEST(RunFile, WarnsAboutWhatWorksButSurprises) {
  const RunFileResult result = LoadRunFile(
      std::string(kGood) + "schedule: {warmup_steps: 80}\ncheckpoint: {every: 500}\n", "run.yaml");
  ASSERT_TRUE(result.spec);
  ASSERT_EQ(result.warnings.size(), 2u);
  EXPECT_THAT(result.warnings[0].message, HasSubstr("warm-up takes 80 of the run's 100 steps"));
  EXPECT_THAT(result.warnings[1].message, HasSubstr("only the last step is saved"));
}

TEST(RunFile, WarnsThatARunGoesOnWithAllOfItsRanksOnly) {
  const auto warnings = [](const std::string& resources) {
    const RunFileResult result = LoadRunFile(std::string(kGood) + resources, "run.yaml");
    return RenderProblems(result.warnings, "warning");
  };
  EXPECT_THAT(warnings("resources: {workers: 4, min_workers: 2}\n"),
              HasSubstr("min_workers 2 has no effect: the run needs all of its 4 ranks"));
  EXPECT_THAT(warnings("resources: {workers: 4, min_workers: 4}\n"), Not(HasSubstr("min_workers")));
  EXPECT_THAT(warnings("resources: {workers: 4}\n"), Not(HasSubstr("min_workers")));
}

TEST(RunFile, WarnsWhereARankCannotGoOnWithoutTheOthers) {
  const auto warnings = [](const std::string& settings) {
    const RunFileResult result = LoadRunFile(
        std::string(kGood) + "stability: {recovery: in_place}\n" + settings, "run.yaml");
    return RenderProblems(result.warnings, "warning");
  };
  EXPECT_THAT(warnings("resources: {workers: 4, min_workers: 2}\n"), Not(HasSubstr("no effect")));
  EXPECT_THAT(warnings("resources: {workers: 1}\n"), HasSubstr("a run of one rank starts again"));
  EXPECT_THAT(warnings("resources: {workers: 2, device: gpu}\n"), HasSubstr("on GPUs"));
  EXPECT_THAT(warnings("resources: {workers: 2}\noptimizer: {kind: muon}\n"),
              HasSubstr("optimizer.kind: muon"));
}

TEST(RunFile, ARunThatRegroupsGoesOnWithOneRankUnlessItSaysOtherwise) {
  const std::string in_place = std::string(kGood) + "stability: {recovery: in_place}\n";
  EXPECT_EQ(Load(in_place + "resources: {workers: 3}\n").resources.min_workers, 1);
  EXPECT_EQ(Load(in_place + "resources: {workers: 3, min_workers: 2}\n").resources.min_workers, 2);
}

TEST(RunFile, WarnsOfKeysOfAnotherAnswerToADivergence) {
  const auto warnings = [](const std::string& stability, const std::string& more = "") {
    const RunFileResult result =
        LoadRunFile(std::string(kGood) + "stability: {" + stability + "}\n" + more, "run.yaml");
    EXPECT_TRUE(result.spec.has_value()) << RenderProblems(result.problems);
    return RenderProblems(result.warnings, "warning");
  };
  EXPECT_EQ(Load(kGood).stability.on_divergence, OnDivergence::kSkip);
  EXPECT_THAT(warnings("on_divergence: stop, skip_nonfinite: false"),
              HasSubstr("skip_nonfinite has no effect: it belongs to stability.on_divergence: "
                        "skip"));
  EXPECT_THAT(warnings("on_divergence: rollback, consecutive_skips_max: 3"),
              HasSubstr("consecutive_skips_max has no effect"));
  EXPECT_THAT(warnings("rollbacks_max: 2"), HasSubstr("belongs to stability.on_divergence: "
                                                      "rollback"));
  EXPECT_THAT(warnings("on_divergence: rollback, rollbacks_max: 2", "checkpoint: {every: 0}\n"),
              HasSubstr("rollback has nothing to go back to"));
  EXPECT_THAT(warnings("on_divergence: rollback, rollbacks_max: 2"), Not(HasSubstr("stability")));
  EXPECT_THAT(warnings("skip_nonfinite: false, spike_sigma: 6"), Not(HasSubstr("stability")));
}

TEST(RunFile, SurvivesTextThatIsNoRunFile) {
  for (const std::string text :
       {"", "- a\n- b\n", "just words", "{", "a: b: c", "\t", "null", "[[[["}) {
    EXPECT_FALSE(Problems(text).empty()) << text;
  }
  EXPECT_FALSE(Problems(std::string("\0\xff\xfe", 3)).empty());
}

// Random text made of characters that have a meaning in YAML: the reader always returns problems.
TEST(RunFile, SurvivesNoise) {
  const uint32_t seed = 20261121;
  std::mt19937 random(seed);
  static constexpr std::string_view kAlphabet = "model:data{}[],\n  -\"'#&*!|>%@`?~0123456789^kMB.";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (size_t i = random() % 80; i > 0; --i) text += kAlphabet[random() % kAlphabet.size()];
    EXPECT_FALSE(Problems(text).empty()) << "seed " << seed << " round " << round << "\n" << text;
  }
}

// For each key: dropping, doubling or swapping any single character must produce a hint that names
// the key.
TEST(RunFile, EverySingleTypoInAKeyIsUnderstood) {
  for (const Field& field : Schema()) {
    const std::string leaf = field.path.substr(field.path.rfind('.') + 1);
    const std::string parent = field.path.substr(0, field.path.size() - leaf.size());
    if (leaf.size() < 4) continue;
    for (size_t i = 0; i + 1 < leaf.size(); ++i) {
      std::string dropped = leaf, doubled = leaf, swapped = leaf;
      dropped.erase(i, 1);
      doubled.insert(i, 1, leaf[i]);
      std::swap(swapped[i], swapped[i + 1]);
      for (const std::string& typo : {dropped, doubled, swapped}) {
        if (FindField(parent + typo) != nullptr) continue;
        const auto problems = Problems(kGood, {parent + typo + "=1"});
        // keep_last and keep_best cannot be confused by one typo, but beta1 and beta2 can.
        if (leaf == "beta1" || leaf == "beta2") continue;
        EXPECT_THAT(problems[0].hint, HasSubstr("'" + field.path + "'")) << parent + typo;
      }
    }
  }
}

}  // namespace
}  // namespace gp::runspec
