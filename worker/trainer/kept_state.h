// KeptState: what a run takes over from the checkpoint in init_from besides its weights: the
// optimizer's state (init_optimizer: keep) and the position in the data with the step counter
// (init_data: keep). Only a run's start reads it; later processes resume from the run's own
// checkpoints, which hold all of it. Every error is a TrainingError: kConfig if the checkpoint does
// not fit the run or is damaged, otherwise as CauseOfUnusableData. One thread.
#pragma once

#include <optional>
#include <string>

#include "formats/checkpoint_manifest.h"
#include "plan/run_spec.h"
#include "worker/data/dataset.h"
#include "worker/engine/collectives/communicator.h"

namespace gp::engine {

struct KeptState {
  std::string directory;
  formats::CheckpointManifest manifest;
  bool optimizer = false;
  bool data = false;
};

// Reads the manifest and compares it with the run file (runspec::CheckKept). Nullopt when the run
// keeps nothing.
std::optional<KeptState> FindKeptState(const runspec::RunSpec& spec);

// Compares again when a model.vocab of auto is known. REQUIRES: vocabulary_auto is false.
void CheckKeptState(const KeptState& kept, const runspec::RunSpec& spec);

// For init_data: keep, checks that the run's data and tokenizer are those that the checkpoint was
// trained on.
void CheckKeptData(const KeptState& kept, const Dataset& dataset);

// Checks that every rank has read the same manifest, which holds the digests of the other files. A
// collective operation.
void AgreeOnKeptState(const KeptState& kept, Communicator& communicator);

}  // namespace gp::engine
