#include "plan/memory_forecast.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "plan/decoder_plan.h"
#include "plan/model_part.h"

namespace gp::runspec {
namespace {

// The suggested rows of a chunked head: enough for fast matrix products.
constexpr int64_t kSuggestedHeadRows = 64;

bool StartsWith(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

int64_t& PurposeOf(const std::string& tensor, MemoryForecast& forecast) {
  if (tensor == "parameters" || tensor == "working_copy") return forecast.parameters_bytes;
  if (StartsWith(tensor, "gradients.")) return forecast.gradients_bytes;
  if (StartsWith(tensor, "muon.") || tensor == "first_moment" || tensor == "second_moment") {
    return forecast.optimizer_bytes;
  }
  if (tensor == "workspace") return forecast.workspace_bytes;
  if (tensor == "snapshot") return forecast.snapshot_bytes;
  return forecast.activations_bytes;
}

// A tensor's size is the distance from its offset to the next tensor's.
MemoryForecast AddUp(const ArenaPlan& plan) {
  MemoryForecast forecast;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const bool is_last = i + 1 == plan.tensors.size();
    const int64_t end = is_last ? plan.total_bytes : plan.tensors[i + 1].offset_bytes;
    PurposeOf(plan.tensors[i].name, forecast) += end - plan.tensors[i].offset_bytes;
  }
  return forecast;
}

// On a CPU, memory counts only once it is written. The gradients and moments before the first
// trained tensor and after the last one are never written.
void LeaveOutFrozen(const ParameterLayout& layout, MemoryForecast& forecast) {
  const ParameterRange trained = TrainedRange(layout);
  constexpr auto kFloat = static_cast<int64_t>(sizeof(float));
  const int64_t untouched_bytes = (layout.total_count - (trained.last - trained.first)) * kFloat;
  const int64_t gradients = forecast.gradients_bytes / (layout.total_count * kFloat);
  forecast.gradients_bytes -= gradients * untouched_bytes;
  forecast.optimizer_bytes -= 2 * untouched_bytes;
}

// The rank with the most gradients; rank r owns shards [r*V/W, (r+1)*V/W).
int BusiestRank(int shards, int workers) {
  int busiest = 0;
  int most = 0;
  for (int rank = 0; rank < workers; ++rank) {
    const auto first = static_cast<int>(int64_t{rank} * shards / workers);
    const auto last = static_cast<int>(int64_t{rank + 1} * shards / workers);
    const int buffers = GradientBuffers(first, last - first);
    if (buffers > most) {
      most = buffers;
      busiest = rank;
    }
  }
  return busiest;
}

// Memory of the decoder that writes samples during training.
int64_t SamplingBytes(const RunSpec& spec, int threads) {
  const ArenaOptions arena = WithPrecision(spec.precision, {});
  return MakeDecoderPlan(spec.model, {.length = spec.batch.sequence,
                                      .bf16 = arena.bf16,
                                      .threads = threads,
                                      .fp16 = arena.fp16,
                                      .on_device = spec.resources.device == "gpu"})
      .total_bytes;
}

class Suggestions {
 public:
  Suggestions(const RunSpec& spec, const BatchPlan& plan, int threads, int workers)
      : spec_(spec), plan_(plan), threads_(threads), workers_(workers) {}

  std::optional<Fit> First(int64_t available_bytes) const {
    for (const Change& change : Changes()) {
      RunSpec changed = spec_;
      changed.batch.micro_batch = change.micro_batch;
      changed.engine.recompute = change.recompute;
      changed.engine.chunked_head = change.chunked_head;
      const int64_t bytes = ForecastMemory(changed, plan_, threads_, workers_).total_bytes();
      if (bytes <= available_bytes) return Fit{Describe(change), bytes};
    }
    return std::nullopt;
  }

 private:
  struct Change {
    int64_t micro_batch = 1;
    Recompute recompute = Recompute::kNone;
    int64_t chunked_head = 0;
  };

  std::vector<Change> Changes() const {
    const Change now{spec_.batch.micro_batch, spec_.engine.recompute, spec_.engine.chunked_head};
    std::vector<Change> changes;
    Change change = now;
    while (change.micro_batch % 2 == 0) {
      change.micro_batch /= 2;
      changes.push_back(change);
    }
    const int64_t least = change.micro_batch;
    if (spec_.engine.kind == EngineKind::kReference) return changes;
    for (const Recompute recompute : {Recompute::kGelu, Recompute::kBlock}) {
      if (recompute > now.recompute) changes.push_back({least, recompute, now.chunked_head});
    }
    if (now.chunked_head == 0 || now.chunked_head > kSuggestedHeadRows) {
      changes.push_back({least, now.recompute, kSuggestedHeadRows});
      changes.push_back({least, Recompute::kBlock, kSuggestedHeadRows});
    }
    return changes;
  }

  std::string Describe(const Change& change) const {
    std::string text;
    const auto add = [&](const std::string& setting) {
      text += (text.empty() ? "" : ", ") + setting;
    };
    if (change.micro_batch != spec_.batch.micro_batch) {
      add("batch.micro_batch=" + std::to_string(change.micro_batch));
      // Without a total in the run file, a smaller micro-batch would shrink the batch. The spec
      // does not show whether the file has one.
      add("batch.total_tokens=" + std::to_string(plan_.tokens_per_step));
    }
    if (change.recompute != spec_.engine.recompute) {
      add(change.recompute == Recompute::kGelu ? "engine.recompute=gelu"
                                               : "engine.recompute=block");
    }
    if (change.chunked_head != spec_.engine.chunked_head) {
      add("engine.chunked_head=" + std::to_string(change.chunked_head));
    }
    return text;
  }

  const RunSpec& spec_;
  const BatchPlan& plan_;
  const int threads_;
  const int workers_;
};

std::string Size(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / (int64_t{1} << 30));
  return text;
}

}  // namespace

TrainingOptions TrainingOptionsOf(const RunSpec& spec, int threads, int first_shard,
                                  int owned_shards) {
  return {.arena = WithPrecision(spec.precision, {.micro_batch = spec.batch.micro_batch,
                                                  .sequence = spec.batch.sequence,
                                                  .threads = threads,
                                                  .attention = spec.engine.attention,
                                                  .recompute = spec.engine.recompute,
                                                  .chunked_head = spec.engine.chunked_head,
                                                  .residual = spec.engine.residual,
                                                  .forward_only_blocks = ForwardOnlyBlocks(
                                                      spec.model, TrainedPartsOf(spec)),
                                                  .on_gpu = spec.resources.device == "gpu"}),
          .first_shard = first_shard,
          .owned_shards = owned_shards,
          .optimizer = spec.optimizer.kind,
          .snapshot_bytes = spec.checkpoint.snapshot_memory};
}

MemoryForecast ForecastMemory(const RunSpec& spec, const BatchPlan& plan, int threads,
                              int workers) {
  const int ranks = std::clamp(workers > 0 ? workers : spec.resources.workers, 1,
                               std::max(plan.logical_shards, 1));
  const int rank = BusiestRank(plan.logical_shards, ranks);
  const auto first = static_cast<int>(int64_t{rank} * plan.logical_shards / ranks);
  const auto last = static_cast<int>(int64_t{rank + 1} * plan.logical_shards / ranks);
  TrainingOptions options = TrainingOptionsOf(spec, threads, first, last - first);
  const bool on_gpu = spec.resources.device == "gpu";
  if (on_gpu && spec.engine.zero1) options.moment_parts = ranks;
  MemoryForecast forecast = AddUp(MakeTrainingPlan(spec.model, options));
  if (!on_gpu) LeaveOutFrozen(MakeParameterLayout(spec.model, TrainedPartsOf(spec)), forecast);
  if (on_gpu) forecast.process_bytes = kGpuProcessBytes + (ranks > 1 ? kGpuGroupBytes : 0);
  if (spec.sample.every_steps > 0) forecast.sampling_bytes = SamplingBytes(spec, threads);
  return forecast;
}

std::optional<Fit> SuggestFit(const RunSpec& spec, const BatchPlan& plan, int threads,
                              int64_t available_bytes, int workers) {
  return Suggestions(spec, plan, threads, workers).First(available_bytes);
}

int64_t RanksBeside(int64_t processors, int threads_per_rank, int workers) {
  const int64_t room = std::max<int64_t>(processors, 1) / std::max(threads_per_rank, 1);
  return std::clamp<int64_t>(room, 1, std::max(workers, 1));
}

int64_t LargestMicroBatch(const RunSpec& spec, const BatchPlan& plan, int threads,
                          int64_t available_bytes, int workers) {
  int64_t largest = 0;
  for (int64_t candidate = 1; plan.accumulation % candidate == 0; candidate *= 2) {
    RunSpec sized = spec;
    sized.batch.micro_batch = candidate;
    if (ForecastMemory(sized, plan, threads, workers).total_bytes() > available_bytes) break;
    largest = candidate;
  }
  return largest;
}

std::optional<std::string> MemoryProblem(const RunSpec& spec, const BatchPlan& plan, int threads,
                                         int64_t available_bytes, const std::string& limit,
                                         int workers) {
  const int64_t needed = ForecastMemory(spec, plan, threads, workers).total_bytes();
  if (needed <= available_bytes) return std::nullopt;
  std::string text = "a rank needs " + Size(needed) + " of memory (" + std::to_string(needed) +
                     " bytes), " + Size(available_bytes) + " are available (" + limit + "); ";
  const std::optional<Fit> fit = SuggestFit(spec, plan, threads, available_bytes, workers);
  if (fit) return text + fit->settings + " would need " + Size(fit->bytes);
  return text +
         "no smaller micro-batch and no recomputation fits: choose a smaller model or a "
         "machine with more memory";
}

}  // namespace gp::runspec
