#include "client/gpctl/session/fork_source.h"

#include <algorithm>

#include "base/file.h"
#include "client/gpctl/render/leg_text.h"
#include "client/gpctl/session/checkpoint_reference.h"
#include "formats/checkpoint_directory.h"
#include "plan/batch_ramp.h"
#include "runspec/batch_plan.h"
#include "runspec/run_file.h"
#include "storage/local_storage.h"

namespace gp::gpctl {
namespace {

constexpr uint64_t kParentFileBytesMax = 1 << 20;

// A leg in the answer of Get; null if the coordinator is too old to send it.
const v1::Leg* FindLeg(const v1::Run& run, int number) {
  for (const v1::Leg& leg : run.legs()) {
    if (leg.number() == number) return &leg;
  }
  return nullptr;
}

void FillCounters(const v1::Run& run, ForkSource& source) {
  const auto file = runspec::LoadRunFile(source.run_file, "run file of " + source.run);
  if (!file.spec) return;
  source.start = StartOf(run, *file.spec);
  const auto plan = runspec::PlanBatch(*file.spec);
  if (plan.ok()) source.tokens = runspec::TokensBefore(*plan, source.step, source.start);
}

ForkSource SourceOf(const v1::Run& run, const v1::Checkpoint& checkpoint) {
  ForkSource source{.text = fmt::format("{}@{}", run.name(), checkpoint.step()),
                    .run = run.name(),
                    .run_id = run.run_id(),
                    .directory = checkpoint.directory(),
                    .run_file = run.resolved(),
                    .step = checkpoint.step(),
                    .target_steps = run.progress().target_steps(),
                    .superseded = checkpoint.superseded()};
  const v1::Leg* leg = FindLeg(run, checkpoint.leg());
  if (leg != nullptr) source.run_file = leg->resolved();
  if (leg != nullptr && leg->number() != run.leg()) source.target_steps = leg->target_steps();
  FillCounters(run, source);
  return source;
}

// The checkpoint in `directory`, if a run of the service has it.
StatusOr<std::optional<ForkSource>> FindKnown(const std::string& run_id,
                                              const std::string& directory, Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  const StatusOr<v1::Run> run = client->Get(run_id);
  if (!run.ok() && run.status().code() == StatusCode::kNotFound) return std::nullopt;
  RETURN_IF_ERROR(run.status());
  ASSIGN_OR_RETURN(const v1::CheckpointsResponse all, client->Checkpoints(run->run_id()));
  for (const auto* checkpoints : {&all.checkpoints(), &all.superseded()}) {
    for (const v1::Checkpoint& one : *checkpoints) {
      if (one.directory() == directory) return SourceOf(*run, one);
    }
  }
  for (const v1::Checkpoint& held : all.quarantined()) {
    if (held.directory() != directory) continue;
    return NotFound("{} is in quarantine: {}; '{}' brings it back if it is intact", directory,
                    held.quarantine_reason(),
                    session.Hint(fmt::format("ckpt verify {}@{}", run->run_id(), held.step())));
  }
  return std::nullopt;
}

// A directory that the service does not know: another service's, or a copy.
StatusOr<ForkSource> SourceIn(const std::string& directory,
                              const formats::CheckpointManifest& manifest) {
  const std::string run_directory = DirectoryOf(DirectoryOf(directory));
  const std::string path = JoinPath(run_directory, "resolved.yaml");
  StatusOr<std::string> run_file = ReadFile(path, kParentFileBytesMax);
  if (!run_file.ok()) {
    return InvalidArgument(
        "{}: no run of the service has this checkpoint, and {} cannot be read, so its run file is "
        "unknown; write a run file with init_from: {}, init_optimizer: keep and init_data: keep, "
        "and submit it",
        directory, path, directory);
  }
  return ForkSource{.text = directory,
                    .run = manifest.run_name,
                    .directory = directory,
                    .run_file = *std::move(run_file),
                    .step = manifest.step,
                    .tokens = manifest.tokens};
}

StatusOr<ForkSource> FindDirectory(const std::string& path, Session& session) {
  const auto found = formats::FindCheckpointIn(LocalStorage(), path);
  if (!found.ok()) {
    return Status(found.status().code(),
                  Message(found.status()) +
                      "; a fork begins from a checkpoint of a run; for any other model write "
                      "init_from into a run file and submit it");
  }
  ASSIGN_OR_RETURN(const auto manifest, formats::ReadManifest(LocalStorage(), *found));
  if (!manifest.run_id.empty()) {
    ASSIGN_OR_RETURN(auto known, FindKnown(manifest.run_id, *found, session));
    if (known) return *std::move(known);
  }
  return SourceIn(*found, manifest);
}

}  // namespace

StatusOr<ForkSource> FindForkSource(const std::string& text, Session& session) {
  ASSIGN_OR_RETURN(auto reference,
                   ParseCheckpointReference(text, session.console().working_directory));
  if (!reference.directory.empty()) return FindDirectory(reference.directory, session);
  ASSIGN_OR_RETURN(const v1::Run run, FindRun(reference, session));
  reference.run = run.run_id();  // its name may change hands
  ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint, FindCheckpoint(reference, session));
  return SourceOf(run, checkpoint);
}

}  // namespace gp::gpctl
