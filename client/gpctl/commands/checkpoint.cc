// gpctl ckpt list, show, verify.
#include <memory>

#include "client/gpctl/checkpoint_reference.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_text.h"
#include "client/gpctl/terminal/number_text.h"
#include "formats/checkpoint_directory.h"

namespace gp::gpctl {
namespace {

StatusOr<ExitCode> ListCheckpoints(const std::string& reference, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(reference));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::CheckpointsResponse response, client->Checkpoints(run.run_id()));
  if (session.json()) {
    Json document = Document("CheckpointList");
    document["items"] = Json::array();
    for (const v1::Checkpoint& checkpoint : response.checkpoints()) {
      document["items"].push_back(CheckpointFields(checkpoint));
    }
    session.console().out << Pretty(document);
  } else if (response.checkpoints().empty()) {
    session.console().err << "No checkpoint of " << run.name() << " is sealed yet.\n";
  } else {
    session.console().out << CheckpointTable(
        {response.checkpoints().begin(), response.checkpoints().end()}, session.Now(),
        session.style());
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
  ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint, FindCheckpoint(reference, session));
  session.console().out << (session.json()
                                ? Pretty(With("Checkpoint", CheckpointFields(checkpoint)))
                                : CheckpointDetails(checkpoint, session.Now()));
  return ExitCode::kOk;
}

// Where a reference points, and the manifest digest that the catalogue holds for it ("" for a
// directory).
struct SealedPlace {
  std::string directory;
  std::string manifest_digest;
};

StatusOr<SealedPlace> FindPlace(const std::string& text, Session& session) {
  ASSIGN_OR_RETURN(const auto reference,
                   ParseCheckpointReference(text, session.console().working_directory));
  if (!reference.directory.empty()) return SealedPlace{reference.directory, ""};
  ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint, FindCheckpoint(reference, session));
  return SealedPlace{checkpoint.directory(), checkpoint.manifest_digest()};
}

// A checkpoint that is damaged is told so (9), whatever the file system said about it.
StatusOr<ExitCode> VerifyCheckpoint(const std::string& text, Session& session) {
  ASSIGN_OR_RETURN(const SealedPlace place, FindPlace(text, session));
  const auto manifest = formats::VerifyCheckpoint(place.directory, place.manifest_digest);
  if (!manifest.ok()) {
    return manifest.status().code() == StatusCode::kNotFound
               ? manifest.status()
               : DataLoss("{} is not intact: {}", place.directory, Message(manifest.status()));
  }
  if (session.json()) {
    Json document = Document("Verification");
    document["directory"] = place.directory;
    document["step"] = manifest->step;
    document["size_bytes"] = manifest->SizeBytes();
    document["files"] = manifest->files.size();
    document["intact"] = true;
    session.console().out << Pretty(document);
  } else {
    session.console().out << fmt::format(
        "intact: {}  step {}, {} files, {}, every digest matches\n", place.directory,
        WithThousands(manifest->step), manifest->files.size(), Bytes(manifest->SizeBytes()));
  }
  return ExitCode::kOk;
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
  const Command noun = commands.Add("ckpt", kModelGroup, "List, show and verify checkpoints");
  AddCheckpointVerb(commands, noun, "list", "RUN", "Show the sealed checkpoints of a run",
                    &ListCheckpoints);
  AddCheckpointVerb(commands, noun, "show", "REF", "Show one checkpoint: RUN, RUN@STEP, RUN@best",
                    &ShowCheckpoint);
  AddCheckpointVerb(commands, noun, "verify", "REF",
                    "Check every file of a checkpoint against its digests", &VerifyCheckpoint);
}

}  // namespace gp::gpctl
