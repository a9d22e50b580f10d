#include "coordinator/service/submission.h"

#include "base/random_id.h"
#include "formats/sha256.h"

namespace gp::coordinator {
namespace {

constexpr size_t kRequestIdBytesMax = 128;
constexpr size_t kSourceBytesMax = 1 << 20;

Status CheckRequest(const v1::SubmitRequest& request) {
  if (request.request_id().empty() || request.request_id().size() > kRequestIdBytesMax) {
    return InvalidArgument(
        "request_id has {} bytes; make one of 1 to {} for each submit and repeat it when you retry",
        request.request_id().size(), kRequestIdBytesMax);
  }
  if (request.source().size() > kSourceBytesMax) {
    return InvalidArgument("the run file has {} bytes; at most {} are read",
                           request.source().size(), kSourceBytesMax);
  }
  return OkStatus();
}

}  // namespace

std::string BodyDigest(const v1::SubmitRequest& request) {
  v1::SubmitRequest body = request;
  body.clear_request_id();
  // The file's path only colours messages.
  body.clear_source_name();
  // No maps inside, so the bytes are the same for equal messages.
  return formats::Sha256Hex(body.SerializeAsString());
}

StatusOr<PreparedSubmit> PrepareSubmit(const v1::SubmitRequest& request,
                                       const RunFileResolver& resolver,
                                       const StorageRoot& storage) {
  RETURN_IF_ERROR(CheckRequest(request));
  ASSIGN_OR_RETURN(
      ResolvedRun resolved,
      resolver.Resolve(
          {{request.source(), request.source_name().empty() ? "run file" : request.source_name(),
            request.base_directory()},
           {request.overrides().begin(), request.overrides().end()},
           request.name()}));
  PreparedSubmit prepared;
  prepared.event.run = RunId(RandomId(10));
  prepared.event.actor = "user";
  prepared.event.request_id = request.request_id();
  Submission& submission = resolved.submission;
  submission.request_id = request.request_id();
  submission.body_digest = BodyDigest(request);
  submission.run_directory = storage.RunDirectory(prepared.event.run);
  prepared.event.body = RunSubmitted{std::move(submission)};
  prepared.warnings = std::move(resolved.warnings);
  return prepared;
}

}  // namespace gp::coordinator
