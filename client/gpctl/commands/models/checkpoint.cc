// gpctl ckpt list, show, verify; the verbs that keep, remove and copy checkpoints are in
// commands/disk/.
#include <algorithm>
#include <memory>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/commands/disk/checkpoints.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/session/checkpoint_reference.h"
#include "client/gpctl/terminal/number_text.h"
#include "formats/checkpoint_directory.h"

namespace gp::gpctl {
namespace {

// All checkpoints, including superseded ones and those in quarantine, sorted by step.
std::vector<v1::Checkpoint> AllOf(const v1::CheckpointsResponse& response) {
  std::vector<v1::Checkpoint> all(response.checkpoints().begin(), response.checkpoints().end());
  all.insert(all.end(), response.superseded().begin(), response.superseded().end());
  all.insert(all.end(), response.quarantined().begin(), response.quarantined().end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.step() < b.step(); });
  return all;
}

StatusOr<ExitCode> ListCheckpoints(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(reference));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::CheckpointsResponse response, client->Checkpoints(run.run_id()));
  if (session.json()) {
    Json document = Document("CheckpointList");
    document["items"] = Json::array();
    for (const v1::Checkpoint& checkpoint : AllOf(response)) {
      document["items"].push_back(CheckpointFields(checkpoint));
    }
    session.console().out << Pretty(document);
  } else if (AllOf(response).empty()) {
    session.console().err << "No checkpoint of " << run.name() << " is sealed yet.\n";
  } else {
    session.console().out << CheckpointTable(AllOf(response), session.Now(), session.style());
  }
  return ExitCode::kOk;
}

StatusOr<ExitCode> ShowCheckpoint(const std::string& text, Session& session) {
  ASSIGN_OR_RETURN(const auto reference,
                   ParseCheckpointReference(text, session.console().working_directory));
  if (!reference.directory.empty()) {
    return InvalidArgument(
        "'{}' is a directory; 'gpctl ckpt verify' reads those, 'show' takes RUN or RUN@STEP", text);
  }
  ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint,
                   FindCheckpoint(reference, session, Among::kSealedAndQuarantined));
  session.console().out << (session.json()
                                ? Pretty(With("Checkpoint", CheckpointFields(checkpoint)))
                                : CheckpointDetails(checkpoint, session.Now()));
  return ExitCode::kOk;
}

// Verifies a checkpoint in quarantine, and brings it back if it is intact. The coordinator reads
// the files, not gpctl.
StatusOr<ExitCode> RestoreCheckpoint(const v1::Checkpoint& held, Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  const auto restored = client->RestoreCheckpoint(held.run_id(), held.step());
  if (restored.status().code() == StatusCode::kDataLoss) {
    return DataLoss("{} is not intact: {}; it stays in quarantine", held.directory(),
                    Message(restored.status()));
  }
  RETURN_IF_ERROR(restored.status());
  session.console().PrintChange(
      session.json()
          ? Pretty(With("Checkpoint", CheckpointFields(*restored)))
          : fmt::format("intact: {}  step {}, every digest matches; it is back from quarantine\n",
                        restored->directory(), WithThousands(restored->step())));
  return ExitCode::kOk;
}

// Verifies a checkpoint's files. `manifest_digest`: the digest that the coordinator has recorded;
// empty for a directory.
StatusOr<ExitCode> VerifyFiles(const std::string& directory, const std::string& manifest_digest,
                               Session& session) {
  const auto manifest = formats::VerifyCheckpoint(directory, manifest_digest);
  if (manifest.status().code() == StatusCode::kDataLoss) {
    return DataLoss("{} is not intact: {}", directory, Message(manifest.status()));
  }
  RETURN_IF_ERROR(manifest.status());
  if (session.json()) {
    Json document = Document("Verification");
    document["directory"] = directory;
    document["step"] = manifest->step;
    document["size_bytes"] = manifest->SizeBytes();
    document["files"] = manifest->files.size();
    document["intact"] = true;
    session.console().out << Pretty(document);
  } else {
    session.console().out << fmt::format(
        "intact: {}  step {}, {} files, {}, every digest matches\n", directory,
        WithThousands(manifest->step), manifest->files.size(), Bytes(manifest->SizeBytes()));
  }
  return ExitCode::kOk;
}

StatusOr<ExitCode> VerifyCheckpoint(const std::string& text, Session& session) {
  ASSIGN_OR_RETURN(const auto reference,
                   ParseCheckpointReference(text, session.console().working_directory));
  if (!reference.directory.empty()) return VerifyFiles(reference.directory, "", session);
  ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint,
                   FindCheckpoint(reference, session, Among::kSealedAndQuarantined));
  if (IsQuarantined(checkpoint)) return RestoreCheckpoint(checkpoint, session);
  return VerifyFiles(checkpoint.directory(), checkpoint.manifest_digest(), session);
}

void AddCheckpointVerb(CommandSet& commands, Command noun, const std::string& name,
                       const std::string& argument, const std::string& summary,
                       StatusOr<ExitCode> (*run)(const std::string&, Session&)) {
  const Command command = commands.AddVerb(noun, name, summary);
  auto reference = std::make_shared<std::string>();
  command.Option(argument, *reference, "see 'gpctl help references'").Required();
  commands.Bind(command, [reference, run](Session& session) { return run(*reference, session); });
}

}  // namespace

void AddCheckpointCommands(CommandSet& commands) {
  const Command noun =
      commands.Add("ckpt", kModelGroup, "List, verify, keep, remove and copy checkpoints");
  AddCheckpointVerb(commands, noun, "list", "RUN",
                    "Show a run's checkpoints, those in quarantine too", &ListCheckpoints);
  AddCheckpointVerb(commands, noun, "show", "REF", "Show one checkpoint: RUN, RUN@STEP, RUN@best",
                    &ShowCheckpoint);
  AddCheckpointVerb(commands, noun, "verify", "REF",
                    "Check every file against its digest; an intact checkpoint leaves quarantine",
                    &VerifyCheckpoint);
  AddKeepingVerbs(noun, commands);
}

}  // namespace gp::gpctl
