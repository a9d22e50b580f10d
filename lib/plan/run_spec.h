// RunSpec: a run file after presets, overrides and defaults were applied. Every field has its
// value, except what only the training machine can decide: the vocabulary, micro_batch, the device
// and, with a device of auto or gpu, the precision may still be `auto`. The keys, their ranges,
// units, defaults and texts are one table in runspec/schema_table.cc; this struct holds the result.
// A value; copy freely.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/model_shape.h"

namespace gp::runspec {

// Precision of matrix products and attention; master weights, gradients and the optimizer's state
// are always fp32. kTf32 rounds the operands of fp32 products to 19 bits; kFp8 is bf16 with fp8
// matrix products in the blocks. kAuto: fp32 on CPUs; on a GPU bf16 where it has that, else fp16.
enum class Precision { kFp32, kBf16, kTf32, kFp16, kFp8, kAuto };
enum class EngineKind { kReference, kEager, kFused };
// kFlash never stores the (T, T) scores, and on a GPU uses the fastest kernels that work there.
// kMath stores them. kCudnn is cuDNN's flash attention and nothing else, kOwn gp's own.
enum class Attention { kFlash, kMath, kCudnn, kOwn };
enum class Recompute { kNone, kGelu, kBlock };  // what backward computes again instead of keeping
enum class ResidualType { kFp32, kBf16 };
enum class OptimizerKind { kAdamW, kMuon };
enum class BatchOrder {
  kRandom,
  kSequential,
  kShuffled
};  // windows: at seeded random offsets (nanoGPT) | consecutive (llm.c) | each once per pass
// What a run does when a rank dies: all ranks start again from the newest sealed checkpoint, or the
// others form a new group and go on with the state that they hold.
enum class Recovery { kRestart, kInPlace };
// What a run does when a step diverges (stability.on_divergence): it ends, leaves the step's batch
// out, or goes back to a checkpoint and leaves out all batches up to that step.
enum class OnDivergence { kStop, kSkip, kRollback };
// One document of a stream's plain text: the whole file | the text between blank lines | a line.
enum class DocumentSplit { kFile, kBlankLine, kLine };
// The format of the data's files. kAuto: by their names and contents; files that look like
// something else are refused. The other values read the files as that format, whatever they look
// like.
enum class DataFormat { kAuto, kText, kJsonLines, kUint16 };
enum class ScheduleKind { kCosine, kLinear, kConstant, kWsd, kPower };
enum class WarmupForm { kNanoGpt, kBuildNanoGpt };  // (it+1)/(warmup+1) | (it+1)/warmup
enum class InitKind {
  kNormal,
  kTorch
};  // keyed normal(0, 0.02) | LibTorch's generator in nanoGPT's draw order

// Whether a run takes over a part of the state of the checkpoint in init_from, or begins it anew.
enum class InitState { kReset, kKeep };

struct DataSpec {
  // One of these three is given.
  std::vector<std::string> text;    // text files, read whole
  std::vector<std::string> train;   // token shards, globs allowed
  std::vector<std::string> stream;  // text files, directories and globs, read during the run
  std::vector<std::string> val;     // token shards; with stream: text
  DataFormat format = DataFormat::kAuto;
  std::string tokenizer = "bytes";         // bytes | chars | gpt2, or a path
  double val_fraction = 0.1;               // of data.text, from its end
  BatchOrder order = BatchOrder::kRandom;  // a stream uses kSequential
  DocumentSplit split = DocumentSplit::kFile;
  std::string split_on;             // a string that ends a document of text and stream; or empty
  std::string text_field = "text";  // for a stream's JSON lines
  std::vector<double> weights;      // one per entry of train, of any scale; empty: no mixture

  bool operator==(const DataSpec&) const = default;
};

struct ResourceSpec {
  int workers = 1;      // ranks
  int min_workers = 0;  // fewest ranks that go on after a rank died (Recovery::kInPlace); 0: 1 then
  int max_workers = 0;  // 0: workers; the logical shards V follow from it
  int gpus = 0;         // 0, or the same as workers: each rank takes one GPU; `device` decides
  std::string device = "cpu";  // cpu | gpu | auto
  int threads = 0;             // per rank; 0: what the slot offers

  bool operator==(const ResourceSpec&) const = default;
};

struct BatchSpec {
  int64_t micro_batch = 8;        // sequences per forward pass of a rank
  bool micro_batch_auto = false;  // the largest power of two that fits the rank's memory
  int64_t sequence = 128;         // T, tokens
  int64_t total_tokens = 0;       // of a step, over all shards; 0: V * micro_batch * sequence
  int64_t ramp_from_tokens = 0;   // the first step's total; 0: no ramp
  int64_t ramp_steps = 0;         // steps until total_tokens is reached

  bool operator==(const BatchSpec&) const = default;
};

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  double grad_clip = 1.0;  // 0: off
  double muon_lr = 0.02;   // for the blocks' matrices under kMuon; the others use lr
  double muon_momentum = 0.95;
  bool muon_row_scaling = false;     // NorMuon's
  bool muon_cautious_decay = false;  // of the blocks' matrices

  bool operator==(const OptimizerSpec&) const = default;
};

struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::kCosine;
  int64_t warmup_steps = 0;
  int64_t warmup_tokens = 0;  // instead of warmup_steps
  WarmupForm warmup_form = WarmupForm::kNanoGpt;
  double min_lr_ratio = 0.1;  // as a fraction of optimizer.lr
  double power = 1;           // the exponent of kPower
  int64_t decay_steps = 0;    // 0: budget.steps
  int64_t decay_tokens = 0;   // instead of decay_steps

  bool operator==(const ScheduleSpec&) const = default;
};

// The limit that is reached first ends the run.
struct BudgetSpec {
  int64_t steps = 0;
  int64_t tokens = 0;
  std::chrono::nanoseconds wall_time{
      0};  // turned once, after calibration, into a stored step budget

  bool operator==(const BudgetSpec&) const = default;
};

struct EngineSpec {
  EngineKind kind = EngineKind::kFused;
  InitKind init = InitKind::kNormal;
  Attention attention = Attention::kFlash;
  Recompute recompute = Recompute::kNone;
  int64_t chunked_head = 0;  // rows of the output head computed at a time; 0: all at once
  bool fused_optimizer = true;
  ResidualType residual = ResidualType::kFp32;
  bool stochastic_rounding = false;  // for the bf16 working copy
  bool graph = true;                 // a GPU records a step's work once and replays it
  bool zero1 = false;                // the optimizer's state is split over the ranks

  bool operator==(const EngineSpec&) const = default;
};

struct EvalSpec {
  int64_t every_steps = 0;  // 0: only at the end
  int64_t batches = 0;      // 0: the whole validation split, once, non-overlapping windows
  int64_t patience = 0;     // evaluations in a row without an improvement that end the run; 0: off
  double min_delta = 0;     // nats; a smaller gain does not count
  std::vector<std::string> tasks;         // files of multiple-choice questions
  std::string task_style = "completion";  // the style of questions (tasks/choice_style.h)
  int64_t task_every = 0;                 // steps; 0: only at the end

  bool operator==(const EvalSpec&) const = default;
};

struct SampleSpec {
  int64_t every_steps = 0;  // 0: never
  std::string prompt = "\n";
  int64_t max_tokens = 200;
  double temperature = 0.8;
  int64_t top_k = 200;

  bool operator==(const SampleSpec&) const = default;
};

struct CheckpointSpec {
  int64_t every_steps = 0;  // 0: only at the end; ignored with every_auto
  bool every_auto = true;   // about every ten minutes
  int keep_last = 2;
  bool keep_best = true;   // the one with the lowest validation loss
  bool on_best = false;    // also save whenever the validation loss improves
  int64_t keep_every = 0;  // steps between checkpoints that are kept for good; 0: none
  int64_t snapshot_memory = int64_t{2} << 30;  // bytes that a save may copy during training

  bool operator==(const CheckpointSpec&) const = default;
};

struct StabilitySpec {
  OnDivergence on_divergence = OnDivergence::kSkip;
  double spike_sigma = 0;      // standard deviations above the recent mean loss; 0: off
  bool skip_nonfinite = true;  // with kSkip
  int64_t consecutive_skips_max = 10;
  int rollbacks_max = 3;
  Recovery recovery = Recovery::kRestart;

  bool operator==(const StabilitySpec&) const = default;
};

// How often failures of ranks and nodes are retried, and after what delay
// (coordinator/scheduler/recovery.cc).
struct RetrySpec {
  int max = 20;  // failures in a row, without a new checkpoint in between, that are tried again
  std::chrono::nanoseconds backoff = std::chrono::milliseconds(500);  // doubles with each failure
  std::chrono::nanoseconds backoff_max = std::chrono::seconds(30);

  bool operator==(const RetrySpec&) const = default;
};

struct RunSpec {
  std::string api_version = "gp/v1";
  std::string name = "run";
  std::string kind = "train";
  std::string preset;
  std::string init_from = "scratch";  // or the path of a model
  // Of the checkpoint in init_from: the optimizer's state; the data position with the step counter.
  InitState init_optimizer = InitState::kReset;
  InitState init_data = InitState::kReset;
  // Parts of the model by name (plan/model_part.h). `train` lists the trained parts (empty: all),
  // `learning_rates` the rates that replace optimizer.lr.
  std::vector<std::string> train;
  std::map<std::string, double> learning_rates;
  ModelShape model;
  bool vocabulary_auto = true;  // model.vocab: auto, taken from the tokenizer when the data is read
  int64_t pad_vocab_to = 1;
  DataSpec data;
  ResourceSpec resources;
  BatchSpec batch;
  OptimizerSpec optimizer;
  ScheduleSpec schedule;
  BudgetSpec budget;
  Precision precision = Precision::kAuto;
  EngineSpec engine;
  EvalSpec eval;
  SampleSpec sample;
  CheckpointSpec checkpoint;
  StabilitySpec stability;
  RetrySpec retries;
  std::string run_namespace = "default";
  int priority = 0;
  std::map<std::string, std::string> labels;
  uint64_t seed = 1337;
  std::optional<bool> deterministic;  // absent: see IsDeterministic

  bool KeepsOptimizer() const { return init_optimizer == InitState::kKeep; }
  bool KeepsData() const { return init_data == InitState::kKeep; }

  // REQUIRES: resources.device is cpu or gpu.
  bool IsDeterministic() const { return deterministic.value_or(resources.device != "gpu"); }

  // Whether ranks that lose a peer keep their state and form a new group. Only CPU groups whose
  // ranks each hold the whole state can; Muon divides its update among the ranks. REQUIRES:
  // resources.device is cpu or gpu.
  bool RegroupsInPlace() const {
    return stability.recovery == Recovery::kInPlace && resources.device != "gpu" && !engine.zero1 &&
           optimizer.kind == OptimizerKind::kAdamW;
  }

  bool operator==(const RunSpec&) const = default;
};

// How the batch is divided: total_tokens = shards * accumulation * micro_batch * sequence.
struct BatchPlan {
  int logical_shards = 1;         // V: the smallest power of two >= the largest allowed world size
  int64_t accumulation = 1;       // micro-batches per shard and step, after the ramp
  int64_t tokens_per_step = 0;    // after the ramp
  int64_t ramp_accumulation = 0;  // for the first step; see plan/batch_ramp.h. 0: no ramp
  int64_t ramp_steps = 0;

  bool operator==(const BatchPlan&) const = default;
};

}  // namespace gp::runspec
