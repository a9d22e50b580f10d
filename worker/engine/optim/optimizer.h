// Optimizer: updates the parameters from a gradient, over the flat buffers. Owns two moments in the
// parameters' layout and the number of updates, which is all that a checkpoint stores of it. AdamW
// and Muon implement the update. CONTRIBUTING.md lists every place that a new optimizer needs. One
// thread calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/run_spec.h"
#include "worker/engine/backend/backend.h"
#include "worker/engine/model/language_model.h"

namespace gp::engine {

// Elements [first, last) of the flat buffers.
struct OptimizerSlice {
  int64_t first = 0;
  int64_t last = 0;
};

// The ranks that hold the same parameters and call Update together. `broadcast` copies the values
// of rank `root` to all others; every rank calls it in the same order.
struct OptimizerGroup {
  int rank = 0;
  int ranks = 1;
  std::function<void(std::span<float> values, int root)> broadcast;
};

struct OptimizerOptions {
  runspec::OptimizerSpec spec;
  // Clipping, decay, update and rounding in one pass over memory instead of one pass each; the same
  // bits either way.
  bool fused = true;
  // Rounds the bf16 working copy stochastically, keyed by the seed, the update and the element.
  bool stochastic_rounding = false;
  uint64_t seed = 0;
  // The elements whose moments this rank keeps and updates (step/optimizer_shards.h); absent: all.
  // AdamW only.
  std::optional<OptimizerSlice> slice;
  // The ranks among which the work may be divided; by default every rank does all of it.
  OptimizerGroup group;
};

class Optimizer {
 public:
  // The backend must outlive this object; it holds the moments' memory.
  Optimizer(Backend& backend, const runspec::ParameterLayout& layout,
            const OptimizerOptions& options);
  virtual ~Optimizer() = default;

  // One update with learning rate `lr`; gradients are multiplied by *factor first (backend memory;
  // see GradientFactor), and may be overwritten. Refreshes the model's working copy. If the factor
  // is NaN nothing changes, and the caller must call UndoSkippedUpdate.
  void Update(LanguageModel& model, std::span<float> gradients, double lr, const float* factor);

  // The version of the update's arithmetic; a run keeps the one that it began with.
  virtual int numerics() const { return 1; }
  // Uses this version from now on. Returns why that is not possible, empty if it is.
  virtual std::string ContinueWith(int64_t numerics);

  // Undoes the counting of the last Update, which changed nothing.
  void UndoSkippedUpdate() { --updates_; }

  // Whether Update reads the factor on the host and so waits for the device.
  virtual bool TakesFactorByValue() const { return !options_.fused; }

  // Rounds the trained parameters into the working copy as the last update did.
  void RefreshWorkingCopy(LanguageModel& model) const;

  // Called before elements [first, last) of the parameters and of both moments change. The call may
  // block the update while a save copies the range.
  using BeforeOverwrite = std::function<void(int64_t first, int64_t last)>;
  void set_before_overwrite(BeforeOverwrite before) { before_overwrite_ = std::move(before); }
  // If set and false (no save in flight), BeforeOverwrite is not called. If not set, it is always
  // called.
  void set_save_in_flight(std::function<bool()> in_flight) {
    save_in_flight_ = std::move(in_flight);
  }

  // The moments of options.slice.
  std::span<float> first_moment() { return first_moment_; }
  std::span<float> second_moment() { return second_moment_; }
  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates) { updates_ = updates; }

 protected:
  struct Step {
    LanguageModel& model;
    std::span<float> gradients;
    double lr = 0;
    const float* factor = nullptr;
    float factor_value = 0;  // set only if TakesFactorByValue(); never NaN
  };

  // Elements with the same update: adjacent tensors, with the gaps after them.
  struct Range {
    int64_t first = 0;
    int64_t last = 0;
    bool decayed = false;
    double lr_ratio = 1;
  };

  virtual void Apply(const Step& step) = 0;

  // The trained tensors for which `takes` is true, in as few ranges as possible.
  static std::vector<Range> RangesOf(
      const runspec::ParameterLayout& layout,
      const std::function<bool(const runspec::ParameterInfo&)>& takes);
  // Updates a range with AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101).
  void UpdateRange(const Step& step, const Range& range);
  // Calls BeforeOverwrite, for updates that do not use UpdateRange.
  void AboutToOverwrite(int64_t first, int64_t last) const;
  // Rounds elements [first, last) into the working copy, if there is one.
  void RoundRange(LanguageModel& model, int64_t first, int64_t last) const;

  Backend& backend() { return backend_; }
  const runspec::OptimizerSpec& spec() const { return options_.spec; }
  const OptimizerGroup& group() const { return options_.group; }
  // The message of ContinueWith for a version of a later gp.
  std::string NewerNumerics(int64_t numerics) const;
  const std::vector<Range>& trained() const { return trained_; }  // every trained range

 private:
  void UpdatePiece(const Step& step, int64_t first, int64_t last, const Range& range);
  float ReadFactor(const float* factor);
  void UpdateInPasses(const AdamWUpdate& update);
  StochasticRounding RoundingAt(int64_t first) const;
  bool saving() const { return before_overwrite_ && (!save_in_flight_ || save_in_flight_()); }

  Backend& backend_;
  const OptimizerOptions options_;
  const int64_t total_count_;
  const OptimizerSlice slice_;
  const std::vector<Range> trained_;
  std::span<float> first_moment_;
  std::span<float> second_moment_;
  int64_t updates_ = 0;
  BeforeOverwrite before_overwrite_;
  std::function<bool()> save_in_flight_;
};

// The optimizer that options.spec.kind names.
std::unique_ptr<Optimizer> MakeOptimizer(Backend& backend, const runspec::ModelShape& shape,
                                         const runspec::ParameterLayout& layout,
                                         const OptimizerOptions& options);

}  // namespace gp::engine
