#include "client/gpctl/session/checkpoint_reference.h"

#include <charconv>
#include <filesystem>

#include "base/file.h"
#include "base/local_path.h"
#include "base/text/shell_word.h"
#include "formats/checkpoint_directory.h"
#include "storage/local_storage.h"

namespace gp::gpctl {
namespace {

bool Matches(const v1::Checkpoint& checkpoint, const CheckpointReference& reference) {
  if (reference.step) return checkpoint.step() == *reference.step;
  return reference.best ? checkpoint.best() : checkpoint.latest();
}

std::string StepList(const v1::CheckpointsResponse& response) {
  std::string steps;
  for (const v1::Checkpoint& checkpoint : response.checkpoints()) {
    steps += fmt::format("{}{}", steps.empty() ? "" : ", ", checkpoint.step());
  }
  return steps;
}

std::string Wanted(const CheckpointReference& reference) {
  if (reference.step) return fmt::format("no sealed checkpoint of step {}", *reference.step);
  return reference.best ? "no best checkpoint: none was evaluated" : "no latest checkpoint";
}

}  // namespace

StatusOr<CheckpointReference> ParseCheckpointReference(const std::string& text,
                                                       const std::string& working_directory) {
  RETURN_IF_ERROR(CheckLocalPath(text));
  const std::string path = AbsolutePath(text, working_directory);
  if (text.find('/') != std::string::npos || FileExists(JoinPath(path, "manifest.json"))) {
    return CheckpointReference{.directory = path};
  }
  // Search from the second character: the run may be "@last", as in "@last@best".
  const size_t at = text.find('@', 1);
  CheckpointReference reference{.run = text.substr(0, at)};
  if (at == std::string::npos) return reference;
  const std::string which = text.substr(at + 1);
  if (which == "latest") return reference;
  if (which == "best") {
    reference.best = true;
    return reference;
  }
  int64_t step = 0;
  const auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), step);
  if (error != std::errc() || end != which.data() + which.size() || step < 0) {
    return InvalidArgument("'{}': after '@' expected a step, best or latest", text);
  }
  reference.step = step;
  return reference;
}

StatusOr<v1::Run> FindRun(const CheckpointReference& reference, Session& session) {
  StatusOr<v1::Run> run = session.FindRun(reference.run);
  const std::string path = AbsolutePath(reference.run, session.console().working_directory);
  if (run.ok() || !FileExists(path)) return run;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return WithContext(run.status(),
                       Message(formats::FindCheckpointIn(LocalStorage(), path).status()));
  }
  return Status(run.status().code(),
                fmt::format("{}; the directory of that name is {}", Message(run.status()),
                            ShellWord("./" + reference.run)));
}

// The error for a run without checkpoints. It names an older run of the same name that has some,
// because a name always means its newest run.
Status NoCheckpoint(const v1::Run& run, client::RunClient& service, Session& session) {
  const char* const yet = client::IsTerminal(run.state()) ? "" : " yet";
  v1::ListRequest request;
  request.set_include_finished(true);
  request.set_namespace_(run.namespace_());
  request.set_search(run.name());
  const auto found = service.List(request);
  if (found.ok()) {
    for (const v1::Run& other : found->runs()) {
      if (other.name() != run.name() || other.latest_checkpoint_step() < 0) continue;
      return NotFound(
          "run {} ({}) has no sealed checkpoint{}; an older run of that name, {}, has step {}: "
          "'{}'",
          run.name(), run.run_id(), yet, other.run_id(), other.latest_checkpoint_step(),
          session.Hint("ckpt list " + other.run_id()));
    }
  }
  return NotFound("run {} has no sealed checkpoint{}", run.name(), yet);
}

bool IsQuarantined(const v1::Checkpoint& checkpoint) { return checkpoint.has_quarantined_at(); }

StatusOr<v1::Checkpoint> FindCheckpoint(const CheckpointReference& reference, Session& session,
                                        Among among) {
  ASSIGN_OR_RETURN(const v1::Run run, FindRun(reference, session));
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  ASSIGN_OR_RETURN(const v1::CheckpointsResponse response, client->Checkpoints(run.run_id()));
  for (const v1::Checkpoint& checkpoint : response.checkpoints()) {
    if (Matches(checkpoint, reference)) return checkpoint;
  }
  // A step that the newest leg has not reached may belong to an earlier one: the newest of these.
  for (int i = response.superseded_size() - 1; i >= 0; --i) {
    if (reference.step && response.superseded(i).step() == *reference.step) {
      return response.superseded(i);
    }
  }
  // Search the quarantined checkpoints from the newest on, as the coordinator does for a step.
  for (int i = response.quarantined_size() - 1; i >= 0; --i) {
    const v1::Checkpoint& held = response.quarantined(i);
    if (!reference.step || held.step() != *reference.step) continue;
    if (among == Among::kSealedAndQuarantined) return held;
    const std::string verify = fmt::format("ckpt verify {}@{}", run.run_id(), held.step());
    return NotFound("step {} of run {} is in quarantine: {}; '{}' brings it back if it is intact",
                    held.step(), run.name(), held.quarantine_reason(), session.Hint(verify));
  }
  if (response.checkpoints().empty()) return NoCheckpoint(run, *client, session);
  return NotFound("run {} has {}; it has steps {}", run.name(), Wanted(reference),
                  StepList(response));
}

StatusOr<std::string> FindCheckpointDirectory(const std::string& text, Session& session) {
  ASSIGN_OR_RETURN(const auto reference,
                   ParseCheckpointReference(text, session.console().working_directory));
  if (!reference.directory.empty()) return reference.directory;
  ASSIGN_OR_RETURN(const v1::Checkpoint checkpoint, FindCheckpoint(reference, session));
  return checkpoint.directory();
}

}  // namespace gp::gpctl
