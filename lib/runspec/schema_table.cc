#include "runspec/schema_table.h"

#include <utility>

#include "runspec/preset.h"

namespace gp::runspec {
namespace {

#define GP_SLOT(member) [](RunSpec& spec) -> Slot { return SlotOf(spec.member); }

std::vector<RunField> RunFields() {
  return {
      {{.path = "apiVersion", .doc = "The version of this file's format.", .choices = {"gp/v1"}},
       GP_SLOT(api_version)},
      {{.path = "name",
        .doc = "Name of the run: letters, digits, '-', '_' and '.'.",
        .also = {"run_name", "experiment"}},
       GP_SLOT(name)},
      {{.path = "kind", .doc = "The type of run; train is the only one.", .choices = {"train"}},
       GP_SLOT(kind)},
      {{.path = "preset",
        .doc = "Values to start from; this file and --set override them.",
        .choices = PresetNames()},
       GP_SLOT(preset)},
      {{.path = "init_from",
        .doc = "The weights that training begins with: scratch, another run's checkpoint "
               "(RUN, RUN@STEP, RUN@best), or a checkpoint's directory, a Hugging Face GPT-2 "
               "directory or a model file of llm.c. The model's shape is taken from it; "
               "model.n_ctx may be less, and model.vocab more: new rows are initialised as in a "
               "new model. "
               "init_optimizer and init_data say what else is taken from it.",
        .also = {"from_pretrained", "pretrained", "resume_from", "checkpoint"}},
       GP_SLOT(init_from)},
      {{.path = "init_optimizer",
        .doc = "Whether the run takes over the optimizer's state from the checkpoint in init_from: "
               "reset starts the optimizer fresh; keep takes its moments, its count of updates and "
               "the loss scale of fp16. keep needs a checkpoint of a run of gp, the same "
               "optimizer.kind, the same size of the model and the same parts in train.",
        .choices = {"reset", "keep"},
        .also = {"load_optimizer", "resume_optimizer", "optimizer_state"}},
       GP_SLOT(init_optimizer)},
      {{.path = "init_data",
        .doc =
            "Whether the run continues at the step of the checkpoint in init_from: reset begins at "
            "step 0, with the first batch; keep begins after the checkpoint's step N: the next "
            "batch is that of step N + 1, the schedule continues there, and budget.steps and "
            "budget.tokens count from the first step of the earlier run. keep needs the same "
            "data and the same tokens in a step.",
        .choices = {"reset", "keep"},
        .also = {"data_position", "resume_data", "skip_batches"}},
       GP_SLOT(init_data)},
      {{.path = "train",
        .doc = "The parts of the model that are trained; [] trains all. Parts: wte, wpe, blocks, "
               "block N (from 0), first N blocks, last N blocks, ln_f, and lm_head where it is not "
               "tied to wte. The others are frozen: their weights never change, their gradients "
               "are not computed and do not count in optimizer.grad_clip, and the backward pass "
               "ends above them where it can.",
        .also = {"trainable", "unfreeze", "requires_grad", "freeze"}},
       GP_SLOT(train)},
      {{.path = "learning_rates",
        .doc = "Learning rates that replace optimizer.lr for the named parts of the model, like "
               "{wte: 1e-5, last 2 blocks: 1e-4}; parts as in train. The schedule changes all of "
               "them alike.",
        .min = 0,
        .max = 10,
        .min_excluded = true,
        .also = {"param_groups", "lr_groups", "layer_lrs"}},
       GP_SLOT(learning_rates)},
  };
}

Slot VocabularySlot(RunSpec& spec) {
  return AutoCountSlot{&spec.model.vocabulary, &spec.vocabulary_auto};
}

std::vector<RunField> ModelFields() {
  return {
      {{.path = "model.n_layer",
        .doc = "Transformer blocks.",
        .min = 1,
        .max = 1024,
        .also = {"layers", "num_layers", "depth"}},
       GP_SLOT(model.layers)},
      {{.path = "model.n_head",
        .doc = "Attention heads; must divide n_embd.",
        .min = 1,
        .max = 1024,
        .also = {"heads", "num_heads"}},
       GP_SLOT(model.heads)},
      {{.path = "model.n_embd",
        .doc = "Width of the residual stream.",
        .unit = "channels",
        .min = 1,
        .max = 65536,
        .also = {"channels", "hidden_size", "d_model", "width"}},
       GP_SLOT(model.channels)},
      {{.path = "model.n_ctx",
        .doc = "Longest sequence the model can read (rows of the position embedding).",
        .unit = "tokens",
        .min = 1,
        .max = 1 << 20,
        .also = {"context", "n_positions", "max_seq_len"}},
       GP_SLOT(model.context)},
      {{.path = "model.vocab",
        .doc = "Number of token ids; auto takes the tokenizer's.",
        .unit = "ids",
        .min = 1,
        .max = 1 << 24,
        .also = {"vocab_size", "vocabulary"}},
       VocabularySlot},
      {{.path = "model.pad_vocab_to",
        .doc = "The embedding's rows are rounded up to a multiple of this, for faster kernels. The "
               "extra rows are never sampled.",
        .unit = "rows",
        .min = 1,
        .max = 65536},
       GP_SLOT(pad_vocab_to)},
      {{.path = "model.bias",
        .doc =
            "Biases in the linear and layer-norm layers. GPT-2 has them, nanoGPT leaves them out."},
       GP_SLOT(model.bias)},
      {{.path = "model.gelu",
        .doc = "The activation: exact (nanoGPT) or the tanh approximation (GPT-2, llm.c).",
        .choices = {"erf", "tanh"},
        .also = {"activation", "activation_function"}},
       GP_SLOT(model.gelu)},
      {{.path = "model.dropout",
        .doc = "Probability that an activation is dropped in training.",
        .min = 0,
        .max = 0.95},
       GP_SLOT(model.dropout)},
      {{.path = "model.tie_embeddings",
        .doc = "The output head shares its weights with the token embedding.",
        .also = {"tie_word_embeddings", "tied_head"}},
       GP_SLOT(model.tied_head)},
  };
}

std::vector<RunField> DataFields() {
  return {
      {{.path = "data.text",
        .doc =
            "Text files to train on, plain or packed by gzip or zstd, as one text in this order; "
            "globs are allowed. Exclusive with data.train. The last part is kept for validation.",
        .also = {"file", "files", "dataset"},
        .is_path = true},
       GP_SLOT(data.text)},
      {{.path = "data.train",
        .doc =
            "Token shards to train on (llm.c .bin, build-nanogpt .npy, nanoGPT .bin; told apart by "
            "content); globs are allowed.",
        .is_path = true},
       GP_SLOT(data.train)},
      {{.path = "data.stream",
        .doc =
            "Text to train on that is read and tokenized during the run, without preparation: "
            "files, directories and globs of .txt and .jsonl, plain, .gz or .zst, in this order, "
            "again and again. Exclusive with data.text and data.train.",
        .also = {"streaming"},
        .is_path = true},
       GP_SLOT(data.stream)},
      {{.path = "data.val",
        .doc = "Token shards for validation; with data.stream: text, in the same forms. Globs are "
               "allowed.",
        .also = {"validation", "valid"},
        .is_path = true},
       GP_SLOT(data.val)},
      {{.path = "data.format",
        .doc = "What the files hold. auto: what their names and contents say; a file that looks "
               "like something else is refused. text: text (of data.text and data.stream). jsonl: "
               "lines of JSON (of data.stream). uint16: shards without a header are tokens of two "
               "bytes (of data.train).",
        .choices = {"auto", "text", "jsonl", "uint16"},
        .also = {"data.type", "format"}},
       GP_SLOT(data.format)},
      {{.path = "data.tokenizer",
        .doc =
            "How text becomes token ids: bytes (256 ids), chars (the text's distinct "
            "characters; of data.train those in nanoGPT's meta.pkl beside the first shard), gpt2 "
            "(50,257 ids), or the byte-level BPE of a file or directory: tokenizer.json, "
            "vocab.json with merges.txt, vocab.bpe with encoder.json, or a .tiktoken. It is saved "
            "in checkpoints. With init_from, the default is the model's tokenizer.",
        .choices = {"bytes", "chars", "gpt2"},
        .is_path = true},
       GP_SLOT(data.tokenizer)},
      {{.path = "data.val_fraction",
        .doc = "Share of data.text, from its end, that is kept for validation.",
        .min = 0,
        .max = 0.9},
       GP_SLOT(data.val_fraction)},
      {{.path = "data.order",
        .doc = "random: windows at offsets that follow from seed, step and row. sequential: "
               "consecutive windows, shard after shard. shuffled: every window once a pass "
               "over the data, in an order that follows from seed and pass. A stream is read "
               "sequentially.",
        .choices = {"random", "sequential", "shuffled"},
        .also = {"shuffle"}},
       GP_SLOT(data.order)},
      {{.path = "data.weights",
        .doc = "Mixes the entries of data.train: one weight for each entry, of any scale. Each row "
               "of a batch is taken from an entry's files in this share, which holds exactly over "
               "every 4096 rows, but for rounding. Each entry has passes of its own.",
        .min = 0,
        .max = 1e9,
        .min_excluded = true,
        .also = {"probabilities", "mix", "mixture", "dataset_weights"}},
       GP_SLOT(data.weights)},
      {{.path = "data.split",
        .doc = "How data.stream's plain text is divided into documents. An end-of-text token "
               "stands before "
               "each document.",
        .choices = {"file", "blank-line", "line"}},
       GP_SLOT(data.split)},
      {{.path = "data.split_on",
        .doc = "A string that separates documents in data.text and data.stream and is part of "
               "none, such as <|endoftext|>. The tokenizer's end-of-text token takes its place: it "
               "stands before each document.",
        .also = {"document_separator", "separator"}},
       GP_SLOT(data.split_on)},
      {{.path = "data.text_field",
        .doc = "The field of data.stream's lines of JSON that holds the text.",
        .also = {"text_column", "dataset_text_field"}},
       GP_SLOT(data.text_field)},
  };
}

std::vector<RunField> ResourceFields() {
  return {
      {{.path = "resources.workers",
        .doc = "Trainer processes (ranks); each takes one slot of a node.",
        .unit = "ranks",
        .min = 1,
        .max = 4096,
        .also = {"world_size", "nproc", "replicas"}},
       GP_SLOT(resources.workers)},
      {{.path = "resources.min_workers",
        .doc = "Fewest ranks the run goes on with when others died, with stability.recovery: "
               "in_place; 0 means 1 there. Otherwise a run needs all of its ranks, and 0 means "
               "resources.workers.",
        .unit = "ranks",
        .min = 0,
        .max = 4096},
       GP_SLOT(resources.min_workers)},
      {{.path = "resources.max_workers",
        .doc =
            "Most ranks the run may ever use; 0 means resources.workers. The results do not depend "
            "on the number of ranks up to this one. With stability.recovery: in_place the run "
            "takes free slots up to this number while no run waits for them, and gpctl resize "
            "changes its ranks.",
        .unit = "ranks",
        .min = 0,
        .max = 4096},
       GP_SLOT(resources.max_workers)},
      {{.path = "resources.gpus",
        .doc = "GPUs over all ranks: as many as resources.workers, because each rank takes one; 0 "
               "means the same; leave it at 0 for CPU runs.",
        .min = 0,
        .max = 4096},
       GP_SLOT(resources.gpus)},
      {{.path = "resources.device",
        .doc = "What the ranks compute on.",
        .choices = {"cpu", "gpu", "auto"}},
       GP_SLOT(resources.device)},
      {{.path = "resources.threads",
        .doc = "Threads per rank; 0 takes what the slot offers.",
        .min = 0,
        .max = 4096},
       GP_SLOT(resources.threads)},
  };
}

Slot MicroBatchSlot(RunSpec& spec) {
  return AutoCountSlot{&spec.batch.micro_batch, &spec.batch.micro_batch_auto};
}

std::vector<RunField> BatchFields() {
  return {
      {{.path = "batch.micro_batch",
        .doc =
            "Sequences in one forward pass. Memory grows with it. auto takes the largest power "
            "of two that divides the batch and fits the memory of a rank; it is decided when the "
            "run first starts, and kept.",
        .unit = "sequences",
        .min = 1,
        .max = 65536,
        .also = {"batch_size", "micro_batch_size", "device_batch_size"}},
       MicroBatchSlot},
      {{.path = "batch.sequence",
        .doc = "Length of a training sequence, at most model.n_ctx.",
        .unit = "tokens",
        .min = 1,
        .max = 1 << 20,
        .also = {"block_size", "sequence_length", "seq_len"}},
       GP_SLOT(batch.sequence)},
      {{.path = "batch.total_tokens",
        .doc = "Tokens in one step, over all ranks; 0 means one micro-batch per logical "
               "shard. "
               "Gradient accumulation follows from it.",
        .unit = "tokens",
        .min = 0,
        .max = 1e9,
        .also = {"total_batch_size", "tokens_per_step"}},
       GP_SLOT(batch.total_tokens)},
      {{.path = "batch.ramp_from_tokens",
        .doc = "Tokens of the first step, when the batch grows over batch.ramp_steps to "
               "batch.total_tokens, in whole micro-batches per logical shard; 0 starts with the "
               "full batch.",
        .unit = "tokens",
        .min = 0,
        .max = 1e9,
        .also = {"rampup_batch_size", "batch_warmup"}},
       GP_SLOT(batch.ramp_from_tokens)},
      {{.path = "batch.ramp_steps",
        .doc = "Steps until the batch has grown to batch.total_tokens.",
        .unit = "steps",
        .min = 0,
        .max = 1e9},
       GP_SLOT(batch.ramp_steps)},
  };
}

std::vector<RunField> OptimizerFields() {
  return {
      {{.path = "optimizer.kind",
        .doc = "adamw, or muon: momentum with orthogonalised updates for the matrices of the "
               "blocks, AdamW for everything else.",
        .choices = {"adamw", "muon"}},
       GP_SLOT(optimizer.kind)},
      {{.path = "optimizer.lr",
        .doc = "AdamW's learning rate after warm-up.",
        .min = 0,
        .max = 10,
        .min_excluded = true,
        .also = {"learning_rate", "max_lr"}},
       GP_SLOT(optimizer.lr)},
      {{.path = "optimizer.beta1",
        .doc = "Decay of the gradient's running mean.",
        .min = 0,
        .max = 0.999999,
        .also = {"betas"}},
       GP_SLOT(optimizer.beta1)},
      {{.path = "optimizer.beta2",
        .doc = "Decay of the squared gradient's running mean.",
        .min = 0,
        .max = 0.999999},
       GP_SLOT(optimizer.beta2)},
      {{.path = "optimizer.eps",
        .doc = "Added to the denominator of AdamW's update.",
        .min = 0,
        .max = 1,
        .min_excluded = true,
        .also = {"epsilon"}},
       GP_SLOT(optimizer.eps)},
      {{.path = "optimizer.weight_decay",
        .doc = "Decoupled decay of every tensor with two or more dimensions.",
        .min = 0,
        .max = 10},
       GP_SLOT(optimizer.weight_decay)},
      {{.path = "optimizer.grad_clip",
        .doc = "Gradients are scaled down to this norm when theirs is larger; 0 turns it off.",
        .min = 0,
        .max = 1e9,
        .also = {"clip", "max_grad_norm", "gradient_clip"}},
       GP_SLOT(optimizer.grad_clip)},
      {{.path = "optimizer.muon_lr",
        .doc = "Muon's learning rate after warm-up; it follows the same schedule as optimizer.lr.",
        .min = 0,
        .max = 10,
        .min_excluded = true},
       GP_SLOT(optimizer.muon_lr)},
      {{.path = "optimizer.muon_momentum",
        .doc = "Decay of Muon's running sum of gradients.",
        .min = 0,
        .max = 0.999999},
       GP_SLOT(optimizer.muon_momentum)},
      {{.path = "optimizer.muon_row_scaling",
        .doc =
            "Muon's update is divided, row by row, by the running root mean square of that row's "
            "updates (NorMuon, Li et al. 2025, arXiv:2510.05491; the decay is optimizer.beta2), "
            "and keeps its norm. On CPUs."},
       GP_SLOT(optimizer.muon_row_scaling)},
      {{.path = "optimizer.muon_cautious_decay",
        .doc =
            "Muon's matrices decay only where the update moves a weight towards 0, too (cautious "
            "weight decay, Chen et al. 2025, arXiv:2510.12402). On CPUs."},
       GP_SLOT(optimizer.muon_cautious_decay)},
  };
}

std::vector<RunField> ScheduleFields() {
  return {
      {{.path = "schedule.kind",
        .doc = "How the learning rate goes from optimizer.lr to its minimum after warm-up.",
        .choices = {"cosine", "linear", "constant", "wsd", "power"}},
       GP_SLOT(schedule.kind)},
      {{.path = "schedule.warmup_steps",
        .doc =
            "Steps over which the learning rate rises linearly to optimizer.lr; the first factor "
            "follows from schedule.warmup_form.",
        .unit = "steps",
        .min = 0,
        .max = 1e12,
        .also = {"warmup", "warmup_iters"}},
       GP_SLOT(schedule.warmup_steps)},
      {{.path = "schedule.warmup_tokens",
        .doc = "Instead of schedule.warmup_steps: as many steps as it takes to train on this many "
               "tokens.",
        .unit = "tokens",
        .min = 0,
        .max = 1e15},
       GP_SLOT(schedule.warmup_tokens)},
      {{.path = "schedule.warmup_form",
        .doc =
            "Warm-up factor of step i (from 0): (i+1)/(warmup+1) as nanoGPT does, or (i+1)/warmup "
            "as build-nanogpt and llm.c do.",
        .choices = {"nanogpt", "build_nanogpt"}},
       GP_SLOT(schedule.warmup_form)},
      {{.path = "schedule.min_lr_ratio",
        .doc = "The lowest learning rate, as a share of optimizer.lr.",
        .min = 0,
        .max = 1,
        .also = {"min_lr", "final_lr_ratio"}},
       GP_SLOT(schedule.min_lr_ratio)},
      {{.path = "schedule.power",
        .doc =
            "Of schedule.kind: power: the rate falls to the minimum like the share of steps that "
            "is left to this power; 1 is linear, below 1 it stays high for longer.",
        .min = 0,
        .max = 10,
        .min_excluded = true},
       GP_SLOT(schedule.power)},
      {{.path = "schedule.decay_steps",
        .doc = "The step at which the minimum is reached; 0 means the last one.",
        .unit = "steps",
        .min = 0,
        .max = 1e12,
        .also = {"lr_decay_iters"}},
       GP_SLOT(schedule.decay_steps)},
      {{.path = "schedule.decay_tokens",
        .doc = "Instead of schedule.decay_steps: the minimum is reached after training on this "
               "many tokens.",
        .unit = "tokens",
        .min = 0,
        .max = 1e15},
       GP_SLOT(schedule.decay_tokens)},
  };
}

std::vector<RunField> BudgetFields() {
  return {
      {{.path = "budget.steps",
        .doc =
            "Steps to train; 0 leaves it to the other budgets. The first budget reached ends the "
            "run.",
        .unit = "steps",
        .min = 0,
        .max = 1e9,
        .also = {"max_iters", "max_steps", "iterations", "num_steps"}},
       GP_SLOT(budget.steps)},
      {{.path = "budget.tokens",
        .doc = "Tokens to train on; 0 leaves it to the other budgets.",
        .unit = "tokens",
        .min = 0,
        .max = 1e15,
        .also = {"max_tokens"}},
       GP_SLOT(budget.tokens)},
      {{.path = "budget.wall_time",
        .doc = "Time to train; turned into a number of steps once, after the first steps were "
               "timed, so "
               "that the schedule always completes. 0s leaves it to the other budgets.",
        .min = 0,
        .also = {"time", "max_time", "duration"}},
       GP_SLOT(budget.wall_time)},
  };
}

std::vector<RunField> EngineFields() {
  return {
      {{.path = "precision",
        .doc =
            "Precision of matrix products and attention; auto is fp32 on CPUs and, on a GPU, bf16 "
            "where it has that, else fp16. tf32, fp16 (with dynamic loss scaling) and fp8 (the "
            "products of the blocks; the rest in bf16) are for GPUs. Master weights, gradients "
            "and the optimizer's state are fp32 always.",
        .choices = {"fp32", "bf16", "tf32", "fp16", "fp8", "auto"},
        .also = {"dtype"}},
       GP_SLOT(precision)},
      {{.path = "engine.kind",
        .doc =
            "fused: the fast kernels; eager: the same model, plain kernels; reference: torch::nn "
            "with "
            "autograd, slow, to compare with.",
        .choices = {"reference", "eager", "fused"}},
       GP_SLOT(engine.kind)},
      {{.path = "engine.init",
        .doc =
            "Initial weights: normal (keyed by the seed), or torch (bit-equal to nanoGPT's for the "
            "same seed).",
        .choices = {"normal", "torch"}},
       GP_SLOT(engine.init)},
      {{.path = "engine.attention",
        .doc =
            "flash computes attention block by block and never stores the scores, on a GPU with "
            "cuDNN's kernels where they work, else with gp's own; math stores the scores, for "
            "comparison; cudnn is cuDNN's flash attention on a GPU and nothing else; own is gp's "
            "own flash attention, also where cuDNN works.",
        .choices = {"flash", "math", "cudnn", "own"}},
       GP_SLOT(engine.attention)},
      {{.path = "engine.recompute",
        .doc =
            "What backward computes again instead of keeping it, to save memory: none; gelu: the "
            "activations of the MLPs; block: everything between the inputs of the blocks.",
        .choices = {"none", "gelu", "block"},
        .also = {"gradient_checkpointing", "activation_checkpointing"}},
       GP_SLOT(engine.recompute)},
      {{.path = "engine.chunked_head",
        .doc = "Positions whose logits exist at the same time; fewer take less memory. 0 computes "
               "all of a micro-batch at once.",
        .unit = "rows",
        .min = 0,
        .max = 1e9},
       GP_SLOT(engine.chunked_head)},
      {{.path = "engine.fused_optimizer",
        .doc = "The optimizer reads and writes every weight in one pass."},
       GP_SLOT(engine.fused_optimizer)},
      {{.path = "engine.residual",
        .doc = "Type of the residual stream between the blocks. bf16 saves memory traffic and "
               "changes the numbers.",
        .choices = {"fp32", "bf16"}},
       GP_SLOT(engine.residual)},
      {{.path = "engine.stochastic_rounding",
        .doc = "The bf16 copy of the weights is rounded up or down at random, keyed by seed and "
               "step, so that small updates are not lost on average. Changes the numbers."},
       GP_SLOT(engine.stochastic_rounding)},
      {{.path = "engine.graph",
        .doc = "A GPU records a step's kernels once and replays them, which saves the time of "
               "launching each. It does not change the bits; ignored on CPUs."},
       GP_SLOT(engine.graph)},
      {{.path = "engine.zero1",
        .doc = "Each rank keeps and updates its part of the optimizer's state only (ZeRO stage 1), "
               "which saves memory. For GPUs; it does not change the bits."},
       GP_SLOT(engine.zero1)},
  };
}

std::vector<RunField> EvalFields() {
  return {
      {{.path = "eval.every",
        .doc = "Steps between evaluations on the validation split; 0 evaluates at the end only.",
        .unit = "steps",
        .min = 0,
        .max = 1e12,
        .also = {"eval_interval", "interval"}},
       GP_SLOT(eval.every_steps)},
      {{.path = "eval.batches",
        .doc = "Micro-batches per evaluation; 0 takes the whole validation split once.",
        .unit = "micro-batches",
        .min = 0,
        .max = 1e12,
        .also = {"eval_iters", "iters"}},
       GP_SLOT(eval.batches)},
      {{.path = "eval.patience",
        .doc =
            "The run ends, as a success, after this many evaluations in a row that did not improve "
            "the validation loss; 0 never stops early. Each improvement is saved, so that the best "
            "weights are kept.",
        .unit = "evaluations",
        .min = 0,
        .max = 1e9,
        .also = {"early_stopping", "early_stop"}},
       GP_SLOT(eval.patience)},
      {{.path = "eval.min_delta",
        .doc = "A validation loss counts as an improvement when it is lower than the best one by "
               "more than this.",
        .unit = "nats",
        .min = 0,
        .max = 1000},
       GP_SLOT(eval.min_delta)},
      {{.path = "eval.tasks",
        .doc = "Files of multiple-choice questions, HellaSwag's lines or your own "
               "(docs/formats/choices.md), that the model is asked while it trains; globs are "
               "allowed.",
        .also = {"hellaswag"},
        .is_path = true},
       GP_SLOT(eval.tasks)},
      {{.path = "eval.task_style",
        .doc = "How questions are asked: completion as llm.c and build-nanogpt, harness as "
               "lm-evaluation-harness. Their scores differ, and results name the style.",
        .choices = {"completion", "harness"}},
       GP_SLOT(eval.task_style)},
      {{.path = "eval.task_every",
        .doc = "Steps between rounds of questions; 0 asks at the end only.",
        .unit = "steps",
        .min = 0,
        .max = 1e12,
        .also = {"task_interval"}},
       GP_SLOT(eval.task_every)},
  };
}

std::vector<RunField> SampleFields() {
  return {
      {{.path = "sample.every",
        .doc = "Steps between samples of the model's text; 0 never samples.",
        .unit = "steps",
        .min = 0,
        .max = 1e12,
        .also = {"interval"}},
       GP_SLOT(sample.every_steps)},
      {{.path = "sample.prompt", .doc = "Text that samples start from.", .also = {"start"}},
       GP_SLOT(sample.prompt)},
      {{.path = "sample.max_tokens",
        .doc = "Length of a sample.",
        .unit = "tokens",
        .min = 1,
        .max = 1 << 20,
        .also = {"max_new_tokens"}},
       GP_SLOT(sample.max_tokens)},
      {{.path = "sample.temperature",
        .doc = "Below 1: likelier text; above 1: more random text; 0 always takes the likeliest "
               "token.",
        .min = 0,
        .max = 100},
       GP_SLOT(sample.temperature)},
      {{.path = "sample.top_k",
        .doc = "Draw from the k likeliest tokens only; 0 draws from all.",
        .unit = "tokens",
        .min = 0,
        .max = 1 << 24},
       GP_SLOT(sample.top_k)},
  };
}

Slot CheckpointEverySlot(RunSpec& spec) {
  return AutoCountSlot{&spec.checkpoint.every_steps, &spec.checkpoint.every_auto};
}

std::vector<RunField> CheckpointFields() {
  return {
      {{.path = "checkpoint.every",
        .doc = "Steps between checkpoints; 0 saves at the end only. auto saves about every ten "
               "minutes, and less often where saves take more than 2% of the time. The last step "
               "is always saved.",
        .unit = "steps",
        .min = 0,
        .max = 1e12,
        .also = {"interval", "save_interval", "save_every"}},
       CheckpointEverySlot},
      {{.path = "checkpoint.keep_last",
        .doc = "The newest checkpoints that are kept; under the service at least 2, one to go back "
               "to.",
        .min = 1,
        .max = 1e6},
       GP_SLOT(checkpoint.keep_last)},
      {{.path = "checkpoint.keep_best",
        .doc = "Also keep the checkpoint with the lowest validation loss."},
       GP_SLOT(checkpoint.keep_best)},
      {{.path = "checkpoint.on_best",
        .doc = "Also save when an evaluation improves the validation loss by more than "
               "eval.min_delta, so that RUN@best is the best that was measured. Needs eval.every.",
        .also = {"save_best", "save_best_only", "always_save_checkpoint"}},
       GP_SLOT(checkpoint.on_best)},
      {{.path = "checkpoint.keep_every",
        .doc = "Also keep for good the first checkpoint at or after each multiple of this number "
               "of steps, to study the model's progress later. 0 keeps none for this.",
        .unit = "steps",
        .min = 0,
        .max = 1e12},
       GP_SLOT(checkpoint.keep_every)},
      {{.path = "checkpoint.snapshot_memory",
        .doc =
            "Most memory for copies of what a save has not written yet while training continues; "
            "never more than the state, 12 bytes a parameter. 0: training waits for every save.",
        .unit = "bytes",
        .min = 0,
        .max = 1e15},
       GP_SLOT(checkpoint.snapshot_memory)},
  };
}

std::vector<RunField> TroubleFields() {
  return {
      {{.path = "stability.skip_nonfinite",
        .doc = "Skip the update of a step whose loss or gradient is not finite. false: such a step "
               "fails the attempt; see retries."},
       GP_SLOT(stability.skip_nonfinite)},
      {{.path = "stability.consecutive_skips_max",
        .doc = "Most steps in a row that may be skipped. One more fails the attempt, which is "
               "retried from the newest checkpoint; see retries.",
        .unit = "steps",
        .min = 0,
        .max = 1e9},
       GP_SLOT(stability.consecutive_skips_max)},
      {{.path = "stability.recovery",
        .doc = "What the run does when a rank dies. restart: all ranks start again from the newest "
               "checkpoint. in_place: the other ranks keep their state and go on in the same step, "
               "and another rank joins them as soon as a slot is free; needs CPUs, "
               "resources.workers or max_workers above 1, and optimizer.kind: adamw, otherwise the "
               "run restarts.",
        .choices = {"restart", "in_place"}},
       GP_SLOT(stability.recovery)},
      {{.path = "retries.max",
        .doc = "How many failures in a row, without a new checkpoint in between, are retried. One "
               "more ends the run as failed. A run also ends when its trainers end by themselves "
               "three times in a row without a new step, or in the same step on two nodes.",
        .min = 0,
        .max = 1e6},
       GP_SLOT(retries.max)},
      {{.path = "retries.backoff",
        .doc = "Wait before the first retry; it doubles each time.",
        .min = 0},
       GP_SLOT(retries.backoff)},
      {{.path = "retries.backoff_max", .doc = "Longest wait before a retry.", .min = 0},
       GP_SLOT(retries.backoff_max)},
  };
}

std::vector<RunField> SchedulingFields() {
  return {
      {{.path = "namespace",
        .doc = "Namespace of the run; names are unique among its runs that have not ended.",
        .also = {"project", "group"}},
       GP_SLOT(run_namespace)},
      {{.path = "priority",
        .doc = "Runs with a higher number are placed first, runs with equal numbers in order of "
               "submission.",
        .min = -1000,
        .max = 1000},
       GP_SLOT(priority)},
      {{.path = "labels", .doc = "Free key-value pairs to find the run by.", .also = {"tags"}},
       GP_SLOT(labels)},
      {{.path = "seed",
        .doc = "Seed of the initial weights, the batch order and dropout.",
        .min = 0,
        .max = 18446744073709551615.0},
       GP_SLOT(seed)},
      {{.path = "deterministic",
        .doc =
            "Equal runs give equal bits, whatever the number of ranks; auto: true on CPUs, false "
            "on GPUs. On CPUs this holds with false too, but false lets a run of one rank continue "
            "on a machine that lacks the instruction set it began with. On a GPU true keeps to "
            "algorithms that sum in a fixed order, none of them chosen by timing, which costs "
            "speed."},
       GP_SLOT(deterministic)},
  };
}
#undef GP_SLOT

}  // namespace

std::vector<RunField> MakeSchema() {
  std::vector<RunField> all;
  for (auto* part : {RunFields, ModelFields, DataFields, ResourceFields, BatchFields,
                     OptimizerFields, ScheduleFields, BudgetFields, EngineFields, EvalFields,
                     SampleFields, CheckpointFields, TroubleFields, SchedulingFields}) {
    for (RunField& field : part()) all.push_back(std::move(field));
  }
  return all;
}

}  // namespace gp::runspec
