// PreparedRun: the checked run file, the data and the model with its initial parameters. The data
// are opened before the group exists, so that errors are found early. The model is made when the
// group has agreed on the settings that its ranks must share. Every error is a TrainingError that
// names what is wrong. Owned by the training; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contract/written_checkpoint.h"
#include "plan/run_spec.h"
#include "plan/training_start.h"
#include "tasks/choice_row.h"
#include "worker/data/batch_source.h"
#include "worker/data/dataset.h"
#include "worker/data/validation_windows.h"
#include "worker/engine/collectives/communicator.h"
#include "worker/engine/model/language_model.h"
#include "worker/trainer/engine_choice.h"
#include "worker/trainer/kept_state.h"
#include "worker/trainer/run_storage.h"

namespace gp::engine {

// The run, directory and epoch of a training, and the threads and storage that it may use.
struct TrainingPlace {
  std::string run_id;
  std::string run_name;
  std::string run_directory;  // absolute
  uint64_t epoch = 0;
  std::string incarnation;
  int threads = 1;
  // Chosen by coordinator/scheduler/queue.cc when it places the epoch, or by
  // standalone_training.cc. Absent: the run starts, from init_from or from scratch.
  std::optional<contract::ResumePoint> resume;
  bool begun = false;                   // the run has trained before: its data was good then
  bool begins_leg = false;              // `resume` is of the leg before the run's newest leg
  int64_t passes_over = 0;              // the steps after `resume` up to this one diverged; 0: none
  std::shared_ptr<RunStorage> storage;  // nullptr: this process is not confined
};

// A file of multiple-choice questions as rows of tokens.
struct PreparedTask {
  std::string name;
  tasks::ChoiceFile file;
  std::vector<tasks::ChoiceRow> rows;
};

struct PreparedRun {
  // PrepareRun sets the vocabulary and decides `auto` in resources.device, precision and
  // deterministic; TrainingLoop::Join sets batch.micro_batch (AgreeOnMicroBatch). checkpoint.every
  // stays `auto`.
  runspec::RunSpec spec;
  runspec::BatchPlan plan;
  Dataset dataset;
  std::vector<PreparedTask> tasks;
  // Absent when the run resumes, or keeps nothing.
  std::optional<KeptState> kept;
  // Where the counters of steps and tokens began: not at 0 with init_data: keep. Set by
  // TrainingLoop::Join.
  runspec::TrainingStart start;
  // Set by CompleteRun.
  std::unique_ptr<BatchSource> batches;
  std::unique_ptr<ValidationWindows> validation;  // nullptr without a validation split
  std::unique_ptr<LanguageModel> model;
  EngineRecord engine;       // the kernels that the run computes with
  std::string kernels_note;  // a sentence if they are slower than the run's level promises
  double peak_flops = 0;     // this rank's peak, the base of MFU; fp32 on a CPU; 0: unknown
  std::string peak_source = "measured";  // or "table"
  std::string device_name;               // the GPU's; empty on a CPU

  bool on_device() const { return spec.resources.device == "gpu"; }
};

// Decides the device, finds what the run keeps of init_from, opens the data, reads the tasks and
// plans the batch.
PreparedRun PrepareRun(runspec::RunSpec spec, const TrainingPlace& place);

// Divides the data into micro-batches and makes the model, with the weights of init_from unless the
// run resumes or TakeOver reads them with the optimizer's state. It computes with `decided`; when
// that is empty, with the kernels of the checkpoint, or with the best on this machine. Throws when
// the run does not fit into the memory (RefuseWhatDoesNotFit). Every rank of the group calls it.
// REQUIRES: the micro-batch is a number.
void CompleteRun(const TrainingPlace& place, const EngineRecord& decided,
                 Communicator& communicator, PreparedRun& run);

// Reads a resolved run file, as the link carries it, without overrides. TrainingError(kConfig) with
// every problem.
runspec::RunSpec LoadResolved(const std::string& yaml);

}  // namespace gp::engine
