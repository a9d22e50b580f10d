#include "coordinator/service/notifications/notification_service.h"

#include "base/text/excerpt.h"
#include "rpc/timestamp.h"

namespace gp::coordinator {
namespace {

google::protobuf::Timestamp TimeOf(Timestamp at) {
  return rpc::ToTimestamp(at.time_since_epoch().count());
}

v1::NotificationTarget ToProto(const TargetState& state) {
  v1::NotificationTarget to;
  to.set_name(state.target.name);
  to.set_kind(TargetKindNames()[static_cast<size_t>(state.target.kind)]);
  for (const Occasion event : state.target.events) to.add_events(std::string(Name(event)));
  for (const std::string& name : state.target.namespaces) to.add_namespaces(name);
  to.set_runs(TargetRunsNames()[static_cast<size_t>(state.target.runs)]);
  to.set_queued(state.queue.queued);
  to.set_dropped(state.queue.dropped);
  to.set_sent(state.sender.sent);
  to.set_failures_in_a_row(state.sender.failures_in_a_row);
  to.set_last_error(state.sender.last_error);
  if (state.queue.oldest) *to.mutable_oldest_at() = TimeOf(*state.queue.oldest);
  if (state.sender.last_error_at) *to.mutable_last_error_at() = TimeOf(*state.sender.last_error_at);
  if (state.sender.last_sent_at) *to.mutable_last_sent_at() = TimeOf(*state.sender.last_sent_at);
  return to;
}

void Fill(const StatusOr<WebhookReply>& reply, v1::TestNotificationTargetResponse& response) {
  response.set_accepted(reply.ok() && reply->accepted());
  response.set_status(reply.ok() ? reply->status : 0);
  response.set_answer(reply.ok() ? reply->excerpt : gp::Message(reply.status()));
}

}  // namespace

NotificationService::NotificationService(const ServiceContext& context, Notifier* notifier)
    : MethodService(context), notifier_(notifier) {
  OnQuery<v1::ListNotificationTargetsRequest, v1::ListNotificationTargetsResponse>(
      "ListNotificationTargets",
      [this](AdmittedCall&, const auto&, auto& response) { return List(response); });
  OnCall<v1::TestNotificationTargetRequest, v1::TestNotificationTargetResponse>(
      "TestNotificationTarget", [this](TestCall& call) { Test(call); });
}

Status NotificationService::List(v1::ListNotificationTargetsResponse& response) const {
  if (notifier_ == nullptr) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<TargetState> states, notifier_->States());
  for (const TargetState& state : states) *response.add_targets() = ToProto(state);
  return OkStatus();
}

void NotificationService::Test(TestCall& call) {
  const std::string& target = call.request().target();
  call.access().Describe("notification target " + Excerpt(target), call.request().request_id());
  if (notifier_ == nullptr) {
    return call.Answer(FailedPrecondition(
        "no notification targets are configured; name a file of them with the coordinator's "
        "setting notifications.targets_file"));
  }
  notifier_->Test(target, [keep = call.shared_from_this()](const StatusOr<WebhookReply>& reply) {
    const StatusCode code = reply.status().code();
    if (code == StatusCode::kNotFound || code == StatusCode::kResourceExhausted) {
      return keep->Answer(reply.status());
    }
    Fill(reply, keep->response());
    keep->Answer(OkStatus());
  });
}

}  // namespace gp::coordinator
