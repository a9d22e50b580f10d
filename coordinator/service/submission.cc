#include "coordinator/service/submission.h"

#include "base/random_id.h"
#include "coordinator/access/role.h"
#include "coordinator/checkpoints/parent_checkpoint.h"
#include "coordinator/state/initial_model.h"
#include "coordinator/state/queries/run_name.h"
#include "formats/sha256.h"

namespace gp::coordinator {
namespace {

constexpr size_t kRequestIdBytesMax = 128;
constexpr size_t kSourceBytesMax = 1 << 20;
// More than a person types. The limit bounds the time of a request: each override is parsed, and a
// wrong key is compared with all keys to suggest a similar one.
constexpr int kOverridesMax = 256;
constexpr size_t kOverrideBytesMax = 16 << 10;
constexpr size_t kPathBytesMax = 4096;
// Each run that has not ended is kept in memory, with its run file.
constexpr size_t kLiveRunsMax = 20'000;
constexpr size_t kLiveRunFileBytesMax = size_t{256} << 20;

// Records which checkpoint of a known run the new run begins from.
Status RecordParent(const Cluster& cluster, Store& store, Submission& submission) {
  ASSIGN_OR_RETURN(const auto parent, FindParent(cluster, store, InitialModelOf(submission)));
  if (!parent) return OkStatus();
  submission.parent_run = parent->run.value();
  submission.parent_leg = parent->leg;
  submission.parent_step = parent->step;
  submission.parent_tokens = parent->tokens;
  return OkStatus();
}

Status CheckStepsLeft(const Submission& submission) {
  const runspec::TrainingStart start = StartOf(submission);
  if (submission.target_steps <= 0 || start.step < submission.target_steps) return OkStatus();
  return InvalidArgument(
      "budget: it ends at step {}, and the run begins at step {}, that of its checkpoint "
      "(init_data: keep); raise it, or count from 0 again with init_data: reset",
      submission.target_steps, start.step);
}

Status CheckPath(const char* field, const std::string& path) {
  if (path.size() <= kPathBytesMax) return OkStatus();
  return InvalidArgument("{} has {} bytes; a path has at most {}", field, path.size(),
                         kPathBytesMax);
}

Status CheckRequest(const v1::SubmitRequest& request) {
  RETURN_IF_ERROR(CheckRequestId(request.request_id(), "submit"));
  if (request.source().size() > kSourceBytesMax) {
    return InvalidArgument("the run file has {} bytes; at most {} are read",
                           request.source().size(), kSourceBytesMax);
  }
  RETURN_IF_ERROR(CheckPath("source_name", request.source_name()));
  RETURN_IF_ERROR(CheckPath("base_directory", request.base_directory()));
  return CheckOverrides(request.overrides());
}

}  // namespace

Status CheckRequestId(const std::string& request_id, const char* what) {
  if (!request_id.empty() && request_id.size() <= kRequestIdBytesMax) return OkStatus();
  return InvalidArgument(
      "request_id has {} bytes; make one of 1 to {} for each {} and repeat it when you retry",
      request_id.size(), kRequestIdBytesMax, what);
}

Status CheckOverrides(const google::protobuf::RepeatedPtrField<std::string>& overrides) {
  if (overrides.size() > kOverridesMax) {
    return InvalidArgument(
        "the request has {} overrides; at most {} are read, put the rest into the run file",
        overrides.size(), kOverridesMax);
  }
  for (int i = 0; i < overrides.size(); ++i) {
    if (overrides[i].size() <= kOverrideBytesMax) continue;
    return InvalidArgument(
        "override {} has {} bytes; at most {} are read, put it into the run file", i + 1,
        overrides[i].size(), kOverrideBytesMax);
  }
  return OkStatus();
}

Status CheckRoom(const Cluster& cluster) {
  const size_t bytes = cluster.tally.file_bytes();
  if (cluster.live.size() < kLiveRunsMax && bytes < kLiveRunFileBytesMax) return OkStatus();
  return ResourceExhausted(
      "{} runs with {} bytes of run files have not ended yet; the coordinator keeps at most {} "
      "runs "
      "or {} bytes: cancel some, or submit again when some have ended",
      cluster.live.size(), bytes, kLiveRunsMax, kLiveRunFileBytesMax);
}

std::string BodyDigest(const v1::SubmitRequest& request) {
  v1::SubmitRequest body = request;
  body.clear_request_id();
  // The file's path appears in messages only.
  body.clear_source_name();
  // The message has no maps, so equal messages have equal bytes.
  return formats::Sha256Hex(body.SerializeAsString());
}

StatusOr<PreparedSubmit> PrepareSubmit(const v1::SubmitRequest& request, bool of_owner,
                                       const RunFileResolver& resolver, const StorageRoot& storage,
                                       const Cluster& cluster, Store& store) {
  RETURN_IF_ERROR(CheckRequest(request));
  std::vector<std::string> overrides(request.overrides().begin(), request.overrides().end());
  if (!request.namespace_().empty()) {
    RETURN_IF_ERROR(CheckNamespaceName(request.namespace_()));
    overrides.push_back("namespace=" + request.namespace_());
  }
  std::string name_taken;
  const auto choose_name = [&](const std::string& run_namespace, const std::string& wanted) {
    name_taken = WhyNameIsTaken(cluster, run_namespace, wanted);
    return name_taken.empty() ? wanted : FreeRunName(cluster, run_namespace, wanted);
  };
  const auto find_start = [&](const std::string& directory) {
    const auto parent = FindParent(cluster, store, directory);
    if (!parent.ok() || !*parent)
      return runspec::TrainingStart();  // RecordParent returns the error
    return runspec::TrainingStart{.step = (*parent)->step, .tokens = (*parent)->tokens};
  };
  ASSIGN_OR_RETURN(
      ResolvedRun resolved,
      resolver.Resolve(
          {{request.source(), request.source_name().empty() ? "run file" : request.source_name(),
            of_owner ? request.base_directory() : ""},
           std::move(overrides),
           request.name(),
           choose_name,
           find_start}));
  if (!name_taken.empty() && !request.name().empty()) {
    return AlreadyExists("{}: choose another name, or cancel that run first", name_taken);
  }
  if (!name_taken.empty()) {
    resolved.warnings.push_back(
        fmt::format("{}: this run is called '{}'", name_taken, resolved.submission.name));
  }
  resolved.submission.of_owner = of_owner;
  RETURN_IF_ERROR(WithContext(CheckNamespaceName(resolved.submission.run_namespace), "namespace"));
  PreparedSubmit prepared;
  prepared.event.run = RunId(RandomId(10));
  prepared.event.request_id = request.request_id();
  Submission& submission = resolved.submission;
  submission.request_id = request.request_id();
  submission.body_digest = BodyDigest(request);
  submission.run_directory = storage.RunDirectory(prepared.event.run);
  RETURN_IF_ERROR(RecordParent(cluster, store, submission));
  RETURN_IF_ERROR(CheckStepsLeft(submission));
  prepared.event.body = RunSubmitted{std::move(submission)};
  prepared.warnings = std::move(resolved.warnings);
  prepared.files = std::move(resolved.files);
  return prepared;
}

}  // namespace gp::coordinator
