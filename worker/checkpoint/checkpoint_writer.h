// CheckpointWriter: saves the training state while training continues. Start returns at once; the
// writer's own thread writes model.safetensors, optimizer.safetensors and tokenizer.json from live
// memory, syncs them, and commits the manifest last (docs/formats/checkpoint.md). Code that
// overwrites the state calls BeforeOverwrite first, for each piece. One save at a time. One thread
// calls. The destructor waits for a save in flight, but not longer than the options' patience. Then
// it gives the save up: the state is not read any more, and a thread that hangs in the storage is
// left behind.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "base/status.h"
#include "contract/written_checkpoint.h"
#include "formats/training_record.h"
#include "plan/model_part.h"
#include "plan/model_shape.h"
#include "storage/storage.h"
#include "worker/checkpoint/streamed_snapshot.h"

namespace gp::engine {

// Values that do not change during a trainer process.
struct CheckpointIdentity {
  std::string run_id;
  std::string run_name;
  // Identifies this process; part of the directory's name, so two writers never use one directory.
  std::string incarnation;
  runspec::ModelShape shape;
  runspec::TrainedParts trained;  // the optimizer's file holds moments of these alone
  std::string data_fingerprint;
  std::string tokenizer;  // Tokenizer::Serialized()
  std::string tokenizer_fingerprint;
};

// The state after `step` committed steps. The spans are flat buffers in the layout of
// MakeParameterLayout(shape).
struct CheckpointState {
  int64_t step = 0;
  uint64_t epoch = 0;  // in which the save began; part of the directory's name
  int64_t tokens = 0;
  std::optional<double> validation_loss;
  formats::TrainingRecord record;
  bool final = false;
  std::span<const float> parameters;
  std::span<const float> first_moment;
  std::span<const float> second_moment;
};

struct SavedCheckpoint : contract::WrittenCheckpoint {
  double held_up_seconds = 0;  // how long training stood still for it; set by Checkpoints
};

class CheckpointWriter {
 public:
  // Checkpoints become directories below `parent` (the run's checkpoints directory).
  CheckpointWriter(std::shared_ptr<const Storage> storage, std::string parent,
                   CheckpointIdentity identity, const StreamedSnapshot::Options& options);
  ~CheckpointWriter();

  // Begins to write the state, whose buffers must outlive this object. FailedPrecondition when a
  // save is in flight or its result was not taken.
  Status Start(const CheckpointState& state);

  // Returns when values [first, last) of the three buffers may change: they were written or copied
  // (within the options' limit), or no save is in flight.
  void BeforeOverwrite(int64_t first, int64_t last);

  bool in_flight() const;

  // The result of the save that Start began; returned once. Nullopt while the save is in flight, or
  // when there is none. An error tells why the save failed; the partial directory has been removed.
  std::optional<StatusOr<SavedCheckpoint>> Take();

  // Waits for the result, at most `timeout`; DeadlineExceeded leaves the save in flight.
  // FailedPrecondition when none was begun.
  StatusOr<SavedCheckpoint> Wait(std::chrono::nanoseconds timeout);

 private:
  class Worker;
  const std::shared_ptr<Worker> worker_;
  std::thread thread_;
};

}  // namespace gp::engine
