#include "client/gpctl/commands/disk/checkpoints.h"

#include <memory>

#include "base/file.h"
#include "base/file_copy.h"
#include "base/text/counted_noun.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/session/checkpoint_reference.h"
#include "client/gpctl/terminal/confirmation.h"
#include "client/gpctl/terminal/number_text.h"
#include "formats/checkpoint_directory.h"
#include "interop/new_directory.h"
#include "storage/local_storage.h"

namespace gp::gpctl {
namespace {

struct PruneOptions {
  std::string run;
  int keep_last = 1;
  bool dry_run = false;
  bool yes = false;
};

struct GetOptions {
  std::string reference;
  std::string directory;
};

StatusOr<ExitCode> Pin(const std::string& text, bool pinned, Session& session) {
  ASSIGN_OR_RETURN(const auto reference,
                   ParseCheckpointReference(text, session.console().working_directory));
  if (!reference.directory.empty()) {
    return InvalidArgument("'{}' is a directory; expected RUN@STEP, RUN@best or RUN", text);
  }
  ASSIGN_OR_RETURN(const v1::Checkpoint found, FindCheckpoint(reference, session));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::Checkpoint now,
                   client->PinCheckpoint(found.run_id(), found.step(), pinned));
  session.console().PrintChange(
      session.json()
          ? OneLine(With("Checkpoint", CheckpointFields(now)))
          : fmt::format(
                "step {} of {} is {}\n", WithThousands(now.step()), reference.run,
                pinned ? "pinned: retention and prunes do not remove it" : "no longer pinned"));
  return ExitCode::kOk;
}

// "3 checkpoints (steps 50, 100, 150)".
std::string CountWithSteps(const v1::PruneCheckpointsResponse& response) {
  constexpr int kStepsMax = 10;
  std::string steps;
  for (int i = 0; i < response.removed_size() && i < kStepsMax; ++i) {
    steps += fmt::format("{}{}", i == 0 ? "" : ", ", WithThousands(response.removed(i).step()));
  }
  if (response.removed_size() > kStepsMax) steps += ", ...";
  return fmt::format("{} ({} {})", CountedNoun(response.removed_size(), "checkpoint"),
                     response.removed_size() == 1 ? "step" : "steps", steps);
}

void PrintPrune(const v1::Run& run, const v1::PruneCheckpointsResponse& response, bool dry_run,
                Session& session) {
  if (session.json()) {
    Json document = Document("Prune");
    document["run_id"] = run.run_id();
    document["dry_run"] = dry_run;
    document["freed_bytes"] = response.freed_bytes();
    document["removed"] = Json::array();
    for (const v1::Checkpoint& one : response.removed()) {
      document["removed"].push_back(CheckpointFields(one));
    }
    session.console().PrintChange(Pretty(document));
    return;
  }
  session.console().PrintChange(fmt::format(
      "{} {} of {}; {} {}\n", dry_run ? "to be removed:" : "removed", CountWithSteps(response),
      run.name(), Bytes(response.freed_bytes()), dry_run ? "to be freed" : "freed"));
}

StatusOr<ExitCode> Prune(const PruneOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const v1::Run run, session.FindRun(options.run));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  v1::PruneCheckpointsRequest request;
  request.set_run(run.run_id());
  request.set_keep_last(options.keep_last);
  request.set_dry_run(true);
  ASSIGN_OR_RETURN(const v1::PruneCheckpointsResponse planned, client->PruneCheckpoints(request));
  if (planned.removed().empty() && !session.json()) {
    session.console().out << fmt::format(
        "Nothing to remove: {} has only checkpoints that a prune keeps.\n", run.name());
    return ExitCode::kOk;
  }
  if (options.dry_run || planned.removed().empty()) {
    PrintPrune(run, planned, options.dry_run, session);
    return ExitCode::kOk;
  }
  const std::string question = fmt::format("Remove {} of {} and free {}?", CountWithSteps(planned),
                                           run.name(), Bytes(planned.freed_bytes()));
  if (!options.yes) {
    ASSIGN_OR_RETURN(const bool agreed, Confirmed(question, session.console()));
    if (!agreed) return FailedPrecondition("nothing was removed; a prune needs a 'y' or --yes");
  }
  request.set_dry_run(false);
  ASSIGN_OR_RETURN(const v1::PruneCheckpointsResponse done, client->PruneCheckpoints(request));
  PrintPrune(run, done, /*dry_run=*/false, session);
  return ExitCode::kOk;
}

// Copies the files that the manifest names, and the manifest; then reads the copy.
StatusOr<formats::CheckpointManifest> CopyCheckpoint(const std::string& from,
                                                     const std::string& manifest_digest,
                                                     const std::string& to) {
  const LocalStorage files;
  ASSIGN_OR_RETURN(const auto manifest, formats::ReadManifest(files, from, manifest_digest));
  ASSIGN_OR_RETURN(interop::NewDirectory copy, interop::NewDirectory::Begin(to));
  for (const formats::CheckpointFile& file : manifest.files) {
    RETURN_IF_ERROR(CopyFile(JoinPath(from, file.name), copy.File(file.name), 0644).status());
  }
  const std::string name = formats::kManifestName;
  RETURN_IF_ERROR(CopyFile(JoinPath(from, name), copy.File(name), 0644).status());
  const auto verified =
      formats::VerifyDigests(files, DirectoryOf(copy.File(name)), manifest_digest);
  if (!verified.ok()) return WithContext(verified.status(), from);
  RETURN_IF_ERROR(copy.Commit());
  return manifest;
}

StatusOr<ExitCode> Get(const GetOptions& options, Session& session) {
  ASSIGN_OR_RETURN(
      const auto reference,
      ParseCheckpointReference(options.reference, session.console().working_directory));
  std::string from = reference.directory;
  std::string digest;
  if (from.empty()) {
    ASSIGN_OR_RETURN(const v1::Checkpoint found, FindCheckpoint(reference, session));
    from = found.directory();
    digest = found.manifest_digest();
  }
  const std::string to = AbsolutePath(options.directory, session.console().working_directory);
  ASSIGN_OR_RETURN(const auto manifest, CopyCheckpoint(from, digest, to));
  Json document = With("CheckpointCopy", {{"step", manifest.step},
                                          {"run", manifest.run_name},
                                          {"directory", to},
                                          {"files", manifest.files.size() + 1},
                                          {"size_bytes", manifest.SizeBytes()}});
  session.console().PrintChange(
      session.json() ? OneLine(document)
                     : fmt::format("copied step {} of {} to {}  {}, every digest matches\n",
                                   WithThousands(manifest.step), manifest.run_name, to,
                                   Bytes(manifest.SizeBytes())));
  return ExitCode::kOk;
}

void AddPinVerb(Command noun, CommandSet& commands, const std::string& name,
                const std::string& summary, bool pinned) {
  const Command command = commands.AddVerb(noun, name, summary);
  auto reference = std::make_shared<std::string>();
  command.Option("REF", *reference, "RUN@STEP, RUN@best, or RUN for its latest").Required();
  commands.Bind(command,
                [reference, pinned](Session& session) { return Pin(*reference, pinned, session); });
}

}  // namespace

void AddKeepingVerbs(Command noun, CommandSet& commands) {
  AddPinVerb(noun, commands, "pin", "Protect a checkpoint from retention and prunes", true);
  AddPinVerb(noun, commands, "unpin", "End that", false);

  const Command prune = commands.AddVerb(
      noun, "prune",
      "Remove checkpoints of a run, except the newest, the best, pinned ones and bases of others");
  auto pruned = std::make_shared<PruneOptions>();
  prune.Option("RUN", pruned->run, "name, id, unique prefix of an id, or @last").Required();
  prune.Option("--keep-last", pruned->keep_last, "how many of the newest to keep (1)")
      .Between(1, 1'000'000);
  prune.Switch("--dry-run", pruned->dry_run, "only show what would be removed");
  prune.Switch("-y,--yes", pruned->yes, "do not ask");
  commands.Bind(prune, [pruned](Session& session) { return Prune(*pruned, session); });

  const Command get = commands.AddVerb(
      noun, "get", "Copy a checkpoint's files to a new directory, and verify them");
  auto wanted = std::make_shared<GetOptions>();
  get.Option("REF", wanted->reference, "RUN@STEP, RUN@best, RUN for its latest, or a directory")
      .Required();
  get.Option("DIR", wanted->directory, "directory to create").Path().Required();
  commands.Bind(get, [wanted](Session& session) { return Get(*wanted, session); });
}

}  // namespace gp::gpctl
