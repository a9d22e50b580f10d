// PreparedRun: what a training works with: the checked run file, the data and the model with its
// fresh parameters. The data are opened before the group exists, so that a mistake is found early;
// the model is made when the group has agreed on what its ranks must have in common. Every error is
// a TrainingError that names what is wrong. Owned by the training; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "link/messages.h"
#include "runspec/run_spec.h"
#include "worker/engine/collectives/communicator.h"
#include "worker/engine/data/batch_source.h"
#include "worker/engine/data/dataset.h"
#include "worker/engine/data/validation_windows.h"
#include "worker/engine/model/language_model.h"
#include "worker/engine/trainer/engine_choice.h"

namespace gp::engine {

// Where and as what a training runs.
struct TrainingPlace {
  std::string run_id;
  std::string run_name;
  std::string run_directory;  // absolute
  uint64_t epoch = 0;
  std::string incarnation;
  int threads = 1;
  std::optional<link::ResumePoint> resume;
};

struct PreparedRun {
  runspec::RunSpec spec;  // with the vocabulary of the data, nothing automatic once completed
  runspec::BatchPlan plan;
  Dataset dataset;
  // Since CompleteRun.
  std::unique_ptr<BatchSource> batches;
  std::unique_ptr<ValidationWindows> validation;  // nullptr without a validation split
  std::unique_ptr<LanguageModel> model;
  EngineRecord engine;    // what it computes with
  double peak_flops = 0;  // this rank's peak, the base of MFU; fp32 on a CPU; 0: unknown
  std::string peak_source = "measured";  // or "table"
  std::string device_name;               // the GPU's; empty on a CPU

  bool on_device() const { return spec.resources.device == "gpu"; }
};

// Opens the data, on `threads`, and plans the batch.
PreparedRun PrepareRun(runspec::RunSpec spec, int threads);

// Cuts the data into micro-batches and makes the model, with what the run was decided to compute
// with; while that is empty, with what the checkpoint was made with, or the best there is here.
// Every rank of the group calls it. REQUIRES: the micro-batch is a number.
void CompleteRun(const TrainingPlace& place, const EngineRecord& decided,
                 Communicator& communicator, PreparedRun& run);

// The run file as it travels, without overrides. TrainingError(kConfig) with every problem.
runspec::RunSpec LoadResolved(const std::string& yaml);

}  // namespace gp::engine
