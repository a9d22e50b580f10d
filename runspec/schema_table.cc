#include "runspec/schema_table.h"

#include <utility>

#include "runspec/preset.h"

namespace gp::runspec {
namespace {

#define GP_SLOT(member) [](RunSpec& spec) -> Slot { return SlotOf(spec.member); }

std::vector<Field> RunFields() {
  return {
      {.path = "apiVersion",
       .slot = GP_SLOT(api_version),
       .doc = "The version of this file's format.",
       .choices = {"gp/v1"}},
      {.path = "name",
       .slot = GP_SLOT(name),
       .doc = "What people call the run: letters, digits, '-', '_' and '.'.",
       .also = {"run_name", "experiment"}},
      {.path = "kind",
       .slot = GP_SLOT(kind),
       .doc = "What the run does with the engine.",
       .choices = {"train"}},
      {.path = "preset",
       .slot = GP_SLOT(preset),
       .doc = "Values to start from; this file and --set override them.",
       .choices = PresetNames()},
  };
}

Slot VocabularySlot(RunSpec& spec) {
  return AutoCountSlot{&spec.model.vocabulary, &spec.vocabulary_auto};
}

std::vector<Field> ModelFields() {
  return {
      {.path = "model.n_layer",
       .slot = GP_SLOT(model.layers),
       .doc = "Transformer blocks.",
       .min = 1,
       .max = 1024,
       .also = {"layers", "num_layers", "depth"}},
      {.path = "model.n_head",
       .slot = GP_SLOT(model.heads),
       .doc = "Attention heads; must divide n_embd.",
       .min = 1,
       .max = 1024,
       .also = {"heads", "num_heads"}},
      {.path = "model.n_embd",
       .slot = GP_SLOT(model.channels),
       .doc = "Width of the residual stream.",
       .unit = "channels",
       .min = 1,
       .max = 65536,
       .also = {"channels", "hidden_size", "d_model", "width"}},
      {.path = "model.n_ctx",
       .slot = GP_SLOT(model.context),
       .doc = "Longest sequence the model can read (rows of the position embedding).",
       .unit = "tokens",
       .min = 1,
       .max = 1 << 20,
       .also = {"context", "n_positions", "max_seq_len"}},
      {.path = "model.vocab",
       .slot = VocabularySlot,
       .doc = "Token ids the model knows; auto takes the tokenizer's number.",
       .unit = "ids",
       .min = 1,
       .max = 1 << 24,
       .also = {"vocab_size", "vocabulary"}},
      {.path = "model.pad_vocab_to",
       .slot = GP_SLOT(pad_vocab_to),
       .doc = "The embedding's rows are rounded up to a multiple of this, for faster kernels. The "
              "extra rows are never sampled.",
       .unit = "rows",
       .min = 1,
       .max = 65536},
      {.path = "model.bias",
       .slot = GP_SLOT(model.bias),
       .doc =
           "Biases in the linear and layer-norm layers. GPT-2 has them, nanoGPT leaves them out."},
      {.path = "model.gelu",
       .slot = GP_SLOT(model.gelu),
       .doc = "The activation: exact (nanoGPT) or the tanh approximation (GPT-2, llm.c).",
       .choices = {"erf", "tanh"},
       .also = {"activation", "activation_function"}},
      {.path = "model.dropout",
       .slot = GP_SLOT(model.dropout),
       .doc = "Probability that an activation is dropped in training.",
       .min = 0,
       .max = 0.95},
      {.path = "model.tie_embeddings",
       .slot = GP_SLOT(model.tied_head),
       .doc = "The output head shares its weights with the token embedding.",
       .also = {"tie_word_embeddings", "tied_head"}},
  };
}

std::vector<Field> DataFields() {
  return {
      {.path = "data.text",
       .slot = GP_SLOT(data.text),
       .doc =
           "Text files to train on, as one text in this order; globs are allowed. Exclusive with "
           "data.train. The last part is kept for validation.",
       .also = {"file", "files", "dataset"},
       .is_path = true},
      {.path = "data.train",
       .slot = GP_SLOT(data.train),
       .doc =
           "Token shards to train on (llm.c .bin, build-nanogpt .npy, nanoGPT .bin; told apart by "
           "content); globs are allowed.",
       .is_path = true},
      {.path = "data.val",
       .slot = GP_SLOT(data.val),
       .doc = "Token shards for validation; globs are allowed.",
       .also = {"validation", "valid"},
       .is_path = true},
      {.path = "data.tokenizer",
       .slot = GP_SLOT(data.tokenizer),
       .doc =
           "How text becomes token ids: bytes (256 ids), chars (the text's distinct characters), "
           "gpt2 (50,257 ids).",
       .choices = {"bytes", "chars", "gpt2"}},
      {.path = "data.val_fraction",
       .slot = GP_SLOT(data.val_fraction),
       .doc = "Share of data.text, from its end, that is kept for validation.",
       .min = 0,
       .max = 0.9},
      {.path = "data.order",
       .slot = GP_SLOT(data.order),
       .doc = "random: windows at offsets that follow from seed, step and row. sequential: "
              "consecutive "
              "windows, shard after shard.",
       .choices = {"random", "sequential"},
       .also = {"shuffle"}},
  };
}

std::vector<Field> ResourceFields() {
  return {
      {.path = "resources.workers",
       .slot = GP_SLOT(resources.workers),
       .doc = "Trainer processes (ranks); each takes one slot of a node.",
       .unit = "ranks",
       .min = 1,
       .max = 4096,
       .also = {"world_size", "nproc", "replicas"}},
      {.path = "resources.min_workers",
       .slot = GP_SLOT(resources.min_workers),
       .doc = "Fewest ranks the run may go on with; 0 means resources.workers.",
       .unit = "ranks",
       .min = 0,
       .max = 4096},
      {.path = "resources.max_workers",
       .slot = GP_SLOT(resources.max_workers),
       .doc =
           "Most ranks the run may ever use; 0 means resources.workers. The results do not depend "
           "on the number of ranks up to this one.",
       .unit = "ranks",
       .min = 0,
       .max = 4096},
      {.path = "resources.gpus",
       .slot = GP_SLOT(resources.gpus),
       .doc =
           "GPUs over all ranks: as many as resources.workers, because each rank takes one; 0 says "
           "the same, and is right on CPUs.",
       .min = 0,
       .max = 4096},
      {.path = "resources.device",
       .slot = GP_SLOT(resources.device),
       .doc = "What the ranks compute on.",
       .choices = {"cpu", "gpu", "auto"}},
      {.path = "resources.threads",
       .slot = GP_SLOT(resources.threads),
       .doc = "Threads per rank; 0 takes what the slot offers.",
       .min = 0,
       .max = 4096},
  };
}

Slot MicroBatchSlot(RunSpec& spec) {
  return AutoCountSlot{&spec.batch.micro_batch, &spec.batch.micro_batch_auto};
}

std::vector<Field> BatchFields() {
  return {
      {.path = "batch.micro_batch",
       .slot = MicroBatchSlot,
       .doc = "Sequences one forward pass sees. Memory grows with it. auto takes the largest power "
              "of two that divides the batch and fits the memory of a rank; it is decided when the "
              "run first starts, and kept.",
       .unit = "sequences",
       .min = 1,
       .max = 65536,
       .also = {"batch_size", "micro_batch_size", "device_batch_size"}},
      {.path = "batch.sequence",
       .slot = GP_SLOT(batch.sequence),
       .doc = "Length of a training sequence, at most model.n_ctx.",
       .unit = "tokens",
       .min = 1,
       .max = 1 << 20,
       .also = {"block_size", "sequence_length", "seq_len"}},
      {.path = "batch.total_tokens",
       .slot = GP_SLOT(batch.total_tokens),
       .doc = "Tokens one step learns from, over all ranks; 0 means one micro-batch per logical "
              "shard. "
              "Gradient accumulation follows from it.",
       .unit = "tokens",
       .min = 0,
       .max = 1e9,
       .also = {"total_batch_size", "tokens_per_step"}},
      {.path = "batch.ramp_from_tokens",
       .slot = GP_SLOT(batch.ramp_from_tokens),
       .doc = "Tokens of the first step, when the batch grows over batch.ramp_steps to "
              "batch.total_tokens, in whole micro-batches per logical shard; 0 starts with the "
              "full batch.",
       .unit = "tokens",
       .min = 0,
       .max = 1e9,
       .also = {"rampup_batch_size", "batch_warmup"}},
      {.path = "batch.ramp_steps",
       .slot = GP_SLOT(batch.ramp_steps),
       .doc = "Steps until the batch has grown to batch.total_tokens.",
       .unit = "steps",
       .min = 0,
       .max = 1e9},
  };
}

std::vector<Field> OptimizerFields() {
  return {
      {.path = "optimizer.kind",
       .slot = GP_SLOT(optimizer.kind),
       .doc = "adamw, or muon: momentum with orthogonalised updates for the matrices of the "
              "blocks, AdamW for everything else.",
       .choices = {"adamw", "muon"}},
      {.path = "optimizer.lr",
       .slot = GP_SLOT(optimizer.lr),
       .doc = "AdamW's learning rate after warm-up.",
       .min = 0,
       .max = 10,
       .min_excluded = true,
       .also = {"learning_rate", "max_lr"}},
      {.path = "optimizer.beta1",
       .slot = GP_SLOT(optimizer.beta1),
       .doc = "Decay of the gradient's running mean.",
       .min = 0,
       .max = 0.999999,
       .also = {"betas"}},
      {.path = "optimizer.beta2",
       .slot = GP_SLOT(optimizer.beta2),
       .doc = "Decay of the squared gradient's running mean.",
       .min = 0,
       .max = 0.999999},
      {.path = "optimizer.eps",
       .slot = GP_SLOT(optimizer.eps),
       .doc = "Added to the denominator of AdamW's update.",
       .min = 0,
       .max = 1,
       .min_excluded = true,
       .also = {"epsilon"}},
      {.path = "optimizer.weight_decay",
       .slot = GP_SLOT(optimizer.weight_decay),
       .doc = "Decoupled decay of every tensor with two or more dimensions.",
       .min = 0,
       .max = 10},
      {.path = "optimizer.grad_clip",
       .slot = GP_SLOT(optimizer.grad_clip),
       .doc = "Gradients are scaled down to this norm when theirs is larger; 0 turns it off.",
       .min = 0,
       .max = 1e9,
       .also = {"clip", "max_grad_norm", "gradient_clip"}},
      {.path = "optimizer.muon_lr",
       .slot = GP_SLOT(optimizer.muon_lr),
       .doc = "Muon's learning rate after warm-up; it follows the same schedule as optimizer.lr.",
       .min = 0,
       .max = 10,
       .min_excluded = true},
      {.path = "optimizer.muon_momentum",
       .slot = GP_SLOT(optimizer.muon_momentum),
       .doc = "Decay of Muon's running sum of gradients.",
       .min = 0,
       .max = 0.999999},
  };
}

std::vector<Field> ScheduleFields() {
  return {
      {.path = "schedule.kind",
       .slot = GP_SLOT(schedule.kind),
       .doc = "How the learning rate goes from optimizer.lr to its minimum after warm-up.",
       .choices = {"cosine", "linear", "constant", "wsd"}},
      {.path = "schedule.warmup_steps",
       .slot = GP_SLOT(schedule.warmup_steps),
       .doc = "Steps over which the learning rate rises linearly from 0.",
       .unit = "steps",
       .min = 0,
       .max = 1e12,
       .also = {"warmup", "warmup_iters"}},
      {.path = "schedule.warmup_tokens",
       .slot = GP_SLOT(schedule.warmup_tokens),
       .doc = "Instead of schedule.warmup_steps: as many steps as it takes to learn from so many "
              "tokens.",
       .unit = "tokens",
       .min = 0,
       .max = 1e15},
      {.path = "schedule.warmup_form",
       .slot = GP_SLOT(schedule.warmup_form),
       .doc =
           "Warm-up factor of step i (from 0): (i+1)/(warmup+1) as nanoGPT does, or (i+1)/warmup "
           "as build-nanogpt and llm.c do.",
       .choices = {"nanogpt", "build_nanogpt"}},
      {.path = "schedule.min_lr_ratio",
       .slot = GP_SLOT(schedule.min_lr_ratio),
       .doc = "The lowest learning rate, as a share of optimizer.lr.",
       .min = 0,
       .max = 1,
       .also = {"min_lr", "final_lr_ratio"}},
      {.path = "schedule.decay_steps",
       .slot = GP_SLOT(schedule.decay_steps),
       .doc = "The step at which the minimum is reached; 0 means the last one.",
       .unit = "steps",
       .min = 0,
       .max = 1e12,
       .also = {"lr_decay_iters"}},
      {.path = "schedule.decay_tokens",
       .slot = GP_SLOT(schedule.decay_tokens),
       .doc = "Instead of schedule.decay_steps: the minimum is reached when so many tokens were "
              "learned from.",
       .unit = "tokens",
       .min = 0,
       .max = 1e15},
  };
}

std::vector<Field> BudgetFields() {
  return {
      {.path = "budget.steps",
       .slot = GP_SLOT(budget.steps),
       .doc = "Steps to train; 0 leaves it to the other budgets. The first budget reached ends the "
              "run.",
       .unit = "steps",
       .min = 0,
       .max = 1e9,
       .also = {"max_iters", "max_steps", "iterations", "num_steps"}},
      {.path = "budget.tokens",
       .slot = GP_SLOT(budget.tokens),
       .doc = "Tokens to train on; 0 leaves it to the other budgets.",
       .unit = "tokens",
       .min = 0,
       .max = 1e15,
       .also = {"max_tokens"}},
      {.path = "budget.wall_time",
       .slot = GP_SLOT(budget.wall_time),
       .doc = "Time to train; turned into a number of steps once, after the first steps were "
              "timed, so "
              "that the schedule always completes. 0s leaves it to the other budgets.",
       .min = 0,
       .also = {"time", "max_time", "duration"}},
  };
}

std::vector<Field> EngineFields() {
  return {
      {.path = "precision",
       .slot = GP_SLOT(precision),
       .doc =
           "Precision of matrix products and attention; auto is fp32 on CPUs and, on a GPU, bf16 "
           "where it has that, else fp16. tf32, fp16 (with dynamic loss scaling) and fp8 (the "
           "products of the blocks; the rest in bf16) are for GPUs. Master weights, gradients "
           "and the optimizer's state are fp32 always.",
       .choices = {"fp32", "bf16", "tf32", "fp16", "fp8", "auto"},
       .also = {"dtype"}},
      {.path = "engine.kind",
       .slot = GP_SLOT(engine.kind),
       .doc = "fused: the fast kernels; eager: the same model, plain kernels; reference: torch::nn "
              "with "
              "autograd, slow, to compare with.",
       .choices = {"reference", "eager", "fused"}},
      {.path = "engine.init",
       .slot = GP_SLOT(engine.init),
       .doc =
           "Initial weights: normal (keyed by the seed), or torch (bit-equal to nanoGPT's for the "
           "same seed).",
       .choices = {"normal", "torch"}},
      {.path = "engine.attention",
       .slot = GP_SLOT(engine.attention),
       .doc = "flash computes attention block by block and never stores the scores, on a GPU with "
              "the fastest kernels that work there; math stores them, for comparison; cudnn is "
              "cuDNN's flash attention on a GPU and nothing else.",
       .choices = {"flash", "math", "cudnn"}},
      {.path = "engine.recompute",
       .slot = GP_SLOT(engine.recompute),
       .doc = "What backward computes again instead of keeping it, to save memory: none; gelu: the "
              "activations of the MLPs; block: everything between the inputs of the blocks.",
       .choices = {"none", "gelu", "block"},
       .also = {"gradient_checkpointing", "activation_checkpointing"}},
      {.path = "engine.chunked_head",
       .slot = GP_SLOT(engine.chunked_head),
       .doc = "Positions whose logits exist at the same time; fewer take less memory. 0 computes "
              "all of a micro-batch at once.",
       .unit = "rows",
       .min = 0,
       .max = 1e9},
      {.path = "engine.fused_optimizer",
       .slot = GP_SLOT(engine.fused_optimizer),
       .doc = "The optimizer reads and writes every weight in one pass."},
      {.path = "engine.residual",
       .slot = GP_SLOT(engine.residual),
       .doc = "Type of the residual stream between the blocks. bf16 saves memory traffic and "
              "changes the numbers.",
       .choices = {"fp32", "bf16"}},
      {.path = "engine.stochastic_rounding",
       .slot = GP_SLOT(engine.stochastic_rounding),
       .doc = "The bf16 copy of the weights is rounded up or down at random, keyed by seed and "
              "step, so that small updates are not lost on average. Changes the numbers."},
      {.path = "engine.graph",
       .slot = GP_SLOT(engine.graph),
       .doc = "A GPU records a step's kernels once and replays them, which saves the time of "
              "launching each. The same bits either way; no meaning on CPUs."},
      {.path = "engine.zero1",
       .slot = GP_SLOT(engine.zero1),
       .doc = "Each rank keeps and updates its part of the optimizer's state only (ZeRO stage 1), "
              "which saves memory. On GPUs. The same bits either way."},
  };
}

std::vector<Field> EvalFields() {
  return {
      {.path = "eval.every",
       .slot = GP_SLOT(eval.every_steps),
       .doc = "Steps between evaluations on the validation split; 0 evaluates at the end only.",
       .unit = "steps",
       .min = 0,
       .max = 1e12,
       .also = {"eval_interval", "interval"}},
      {.path = "eval.batches",
       .slot = GP_SLOT(eval.batches),
       .doc = "Micro-batches per evaluation; 0 takes the whole validation split once.",
       .unit = "micro-batches",
       .min = 0,
       .max = 1e12,
       .also = {"eval_iters", "iters"}},
      {.path = "eval.patience",
       .slot = GP_SLOT(eval.patience),
       .doc =
           "The run ends, as a success, after so many evaluations in a row that did not improve "
           "the validation loss; 0 never stops early. Each improvement is saved, so that the best "
           "weights are kept.",
       .unit = "evaluations",
       .min = 0,
       .max = 1e9,
       .also = {"early_stopping", "early_stop"}},
      {.path = "eval.min_delta",
       .slot = GP_SLOT(eval.min_delta),
       .doc = "A validation loss counts as an improvement when it is lower than the best one by "
              "more than this.",
       .unit = "nats",
       .min = 0,
       .max = 1000},
  };
}

std::vector<Field> SampleFields() {
  return {
      {.path = "sample.every",
       .slot = GP_SLOT(sample.every_steps),
       .doc = "Steps between samples of the model's text; 0 never samples.",
       .unit = "steps",
       .min = 0,
       .max = 1e12,
       .also = {"interval"}},
      {.path = "sample.prompt",
       .slot = GP_SLOT(sample.prompt),
       .doc = "Text that samples start from.",
       .also = {"start"}},
      {.path = "sample.max_tokens",
       .slot = GP_SLOT(sample.max_tokens),
       .doc = "Length of a sample.",
       .unit = "tokens",
       .min = 1,
       .max = 1 << 20,
       .also = {"max_new_tokens"}},
      {.path = "sample.temperature",
       .slot = GP_SLOT(sample.temperature),
       .doc = "Below 1: likelier text; above 1: wilder; 0 always takes the likeliest token.",
       .min = 0,
       .max = 100},
      {.path = "sample.top_k",
       .slot = GP_SLOT(sample.top_k),
       .doc = "Draw from the k likeliest tokens only; 0 draws from all.",
       .unit = "tokens",
       .min = 0,
       .max = 1 << 24},
  };
}

std::vector<Field> CheckpointFields() {
  return {
      {.path = "checkpoint.every",
       .slot = GP_SLOT(checkpoint.every_steps),
       .doc = "Steps between checkpoints; 0 saves at the end only. The last step is always saved.",
       .unit = "steps",
       .min = 0,
       .max = 1e12,
       .also = {"interval", "save_interval", "save_every"}},
      {.path = "checkpoint.keep_last",
       .slot = GP_SLOT(checkpoint.keep_last),
       .doc =
           "The newest checkpoints that are kept; under the service at least 2, one to go back to.",
       .min = 1,
       .max = 1e6},
      {.path = "checkpoint.keep_best",
       .slot = GP_SLOT(checkpoint.keep_best),
       .doc = "Also keep the checkpoint with the lowest validation loss."},
      {.path = "checkpoint.snapshot_memory",
       .slot = GP_SLOT(checkpoint.snapshot_memory),
       .doc = "Most memory that a save may take for copies of what it has not written yet while "
              "training goes on; never more than the state, 12 bytes a parameter. 0: training "
              "waits for every save.",
       .unit = "bytes",
       .min = 0,
       .max = 1e15},
  };
}

std::vector<Field> TroubleFields() {
  return {
      {.path = "stability.skip_nonfinite",
       .slot = GP_SLOT(stability.skip_nonfinite),
       .doc = "A step whose loss or gradient is not finite is skipped instead of ending the run."},
      {.path = "stability.consecutive_skips_max",
       .slot = GP_SLOT(stability.consecutive_skips_max),
       .doc = "The run fails after this many skipped steps in a row.",
       .unit = "steps",
       .min = 0,
       .max = 1e9},
      {.path = "retries.max",
       .slot = GP_SLOT(retries.max),
       .doc = "Failures in a row, without a new checkpoint in between, after which the run fails.",
       .min = 0,
       .max = 1e6},
      {.path = "retries.backoff",
       .slot = GP_SLOT(retries.backoff),
       .doc = "Wait before the first retry; it doubles each time.",
       .min = 0},
      {.path = "retries.backoff_max",
       .slot = GP_SLOT(retries.backoff_max),
       .doc = "Longest wait before a retry.",
       .min = 0},
  };
}

std::vector<Field> SchedulingFields() {
  return {
      {.path = "namespace",
       .slot = GP_SLOT(run_namespace),
       .doc = "Whose run it is; names are unique within one.",
       .also = {"project", "group"}},
      {.path = "priority",
       .slot = GP_SLOT(priority),
       .doc = "Runs with a higher number are placed first; equals in order of submission.",
       .min = -1000,
       .max = 1000},
      {.path = "labels",
       .slot = GP_SLOT(labels),
       .doc = "Free key-value pairs to find the run by.",
       .also = {"tags"}},
      {.path = "seed",
       .slot = GP_SLOT(seed),
       .doc = "Of the initial weights, the batch order and dropout.",
       .min = 0,
       .max = 18446744073709551615.0},
      {.path = "deterministic",
       .slot = GP_SLOT(deterministic),
       .doc =
           "Equal runs give equal bits, whatever the number of ranks; auto: true on CPUs, false on "
           "GPUs. On CPUs they do either way; false lets a run of one rank go on on a machine that "
           "lacks the instructions it began with. On a GPU true keeps to algorithms that sum in a "
           "fixed order, none of them chosen by timing, which costs speed."},
  };
}
#undef GP_SLOT

}  // namespace

std::vector<Field> MakeSchema() {
  std::vector<Field> all;
  for (auto* part : {RunFields, ModelFields, DataFields, ResourceFields, BatchFields,
                     OptimizerFields, ScheduleFields, BudgetFields, EngineFields, EvalFields,
                     SampleFields, CheckpointFields, TroubleFields, SchedulingFields}) {
    for (Field& field : part()) all.push_back(std::move(field));
  }
  return all;
}

}  // namespace gp::runspec
