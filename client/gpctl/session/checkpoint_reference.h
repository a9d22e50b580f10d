// CheckpointReference: RUN, RUN@STEP, RUN@best, RUN@latest, or a directory. A value. Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "client/gpctl/session/session.h"

namespace gp::gpctl {

struct CheckpointReference {
  std::string run;        // empty for a directory
  std::string directory;  // absolute
  // The checkpoint of a run: `step`, `best`, or the latest if neither is set.
  std::optional<int64_t> step;
  bool best = false;
};

// A text with a '/' in it, or one that names a directory holding a manifest, is a directory.
// InvalidArgument lists the forms.
StatusOr<CheckpointReference> ParseCheckpointReference(const std::string& text,
                                                       const std::string& working_directory);

// Finds the run that `reference` names. If there is no such run, but a directory of that name in
// the working directory, the error says how to name the directory. REQUIRES: `reference` names a
// run.
StatusOr<v1::Run> FindRun(const CheckpointReference& reference, Session& session);

// The checkpoints among which a step is looked up.
enum class Among { kSealed, kSealedAndQuarantined };

// The checkpoint that `reference` means. Quarantined ones are found by RUN@STEP only. NotFound
// lists the existing steps, or says how to bring a quarantined one back, or which older run of the
// name has checkpoints. REQUIRES: it names a run.
StatusOr<v1::Checkpoint> FindCheckpoint(const CheckpointReference& reference, Session& session,
                                        Among among = Among::kSealed);

bool IsQuarantined(const v1::Checkpoint& checkpoint);

// The directory of a run's checkpoint; a reference that is a directory is returned as it is, made
// absolute.
StatusOr<std::string> FindCheckpointDirectory(const std::string& text, Session& session);

}  // namespace gp::gpctl
