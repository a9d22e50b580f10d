#include "worker/trainer/kept_state.h"

#include <fmt/format.h>

#include "formats/checkpoint_directory.h"
#include "formats/sha256.h"
#include "interop/model_format.h"
#include "interop/parent_checkpoint.h"
#include "storage/local_storage.h"
#include "worker/engine/step/training_error.h"
#include "worker/trainer/data_failure.h"
#include "worker/trainer/initial_weights.h"

namespace gp::engine {
namespace {

using contract::ExitCause;

void Refuse(const std::string& directory, const std::string& message, const std::string& hint) {
  throw TrainingError(ExitCause::kConfig,
                      fmt::format("init_from {}: {}; {}", directory, message, hint));
}

void Compare(const runspec::ParentState& parent, const std::string& directory,
             const runspec::RunSpec& spec) {
  const auto problems = runspec::CheckKept(parent, spec);
  if (!problems.empty()) Refuse(directory, problems[0].message, problems[0].hint);
}

}  // namespace

std::optional<KeptState> FindKeptState(const runspec::RunSpec& spec) {
  if (!spec.KeepsOptimizer() && !spec.KeepsData()) return std::nullopt;
  KeptState kept{
      .directory = spec.init_from, .optimizer = spec.KeepsOptimizer(), .data = spec.KeepsData()};
  const auto format = UsableOrThrow(interop::DetectModelFormat(kept.directory), /*begun=*/false);
  if (format != interop::ModelFormat::kCheckpoint) {
    Compare(interop::NoParentState(format), kept.directory, spec);
  }
  kept.manifest =
      UsableOrThrow(formats::ReadManifest(LocalStorage(), kept.directory), /*begun=*/false);
  CheckKeptState(kept, spec);
  return kept;
}

void CheckKeptState(const KeptState& kept, const runspec::RunSpec& spec) {
  Compare(interop::ParentStateOf(kept.directory, kept.manifest), kept.directory, spec);
}

void CheckKeptData(const KeptState& kept, const Dataset& dataset) {
  if (!kept.data) return;
  const auto compare = [&](const char* what, const char* key, const std::string& has,
                           const std::string& needs) {
    if (has == needs) return;
    Refuse(kept.directory,
           fmt::format(
               "init_data: keep continues at a position in the data, but {} is not that of the "
               "checkpoint (fingerprint {}, the checkpoint's is {})",
               what, has.substr(0, 12), needs.substr(0, 12)),
           fmt::format("name the same {}, or set init_data: reset to begin with the first batch",
                       key));
  };
  compare("the tokenizer", "data.tokenizer", dataset.tokenizer->Fingerprint(),
          kept.manifest.tokenizer_fingerprint);
  compare("the content of data", "files in data, divided and weighted alike", dataset.fingerprint,
          kept.manifest.data_fingerprint);
}

void AgreeOnKeptState(const KeptState& kept, Communicator& communicator) {
  AgreeOnInitial("checkpoints", formats::Sha256Hex(formats::FormatManifest(kept.manifest)),
                 communicator);
}

}  // namespace gp::engine
