#include "coordinator/service/node_service.h"

#include <algorithm>
#include <utility>

#include "base/text/excerpt.h"
#include "coordinator/service/convert.h"
#include "coordinator/service/node_reference.h"

namespace gp::coordinator {
namespace {

constexpr size_t kReasonBytesMax = 200;

// A reason becomes part of a one-line message.
Status CheckReason(const std::string& reason) {
  if (reason.size() > kReasonBytesMax) {
    return InvalidArgument("the reason has {} bytes; at most {} are kept", reason.size(),
                           kReasonBytesMax);
  }
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::none_of(reason.begin(), reason.end(), is_control)) return OkStatus();
  return InvalidArgument("the reason must be one line without control characters");
}

template <typename Request>
StatusOr<EventBody> CordonOf(const Request& request, const Node& node, bool drain) {
  RETURN_IF_ERROR(CheckReason(request.reason()));
  return NodeCordoned{node.id, node.name, drain, request.reason()};
}

}  // namespace

NodeService::NodeService(const ServiceContext& context, Reconciler& reconciler)
    : MethodService(context), reconciler_(reconciler) {
  OnChange<v1::CordonRequest>("Cordon", [](const auto& of, const Node& node) {
    return CordonOf(of, node, /*drain=*/false);
  });
  OnChange<v1::DrainRequest>(
      "Drain", [](const auto& of, const Node& node) { return CordonOf(of, node, /*drain=*/true); });
  OnChange<v1::UncordonRequest>(
      "Uncordon",
      [](const auto&, const Node& node) -> StatusOr<EventBody> { return NodeUncordoned{node.id}; });
}

template <typename Request, typename MakeBody>
void NodeService::OnChange(const char* method, MakeBody make_body) {
  using Call = PooledCall<Request, v1::Node>;
  OnCall<Request, v1::Node>(method, [this, make_body](Call& call) {
    call.access().Describe("node " + Excerpt(call.request().node()), call.request().request_id());
    const auto node = ResolveNode(*reconciler_.snapshot(), call.request().node());
    if (!node.ok()) return call.Answer(node.status());
    StatusOr<EventBody> body = make_body(call.request(), **node);
    if (!body.ok()) return call.Answer(body.status());
    reconciler_.Request(
        {.actor = call.access().principal().Text(),
         .request_id = call.request().request_id(),
         .body = *std::move(body)},
        [this, keep = call.shared_from_this(), id = (*node)->id](const auto& admission) {
          const auto cluster = reconciler_.snapshot();
          const auto now = cluster->FindNode(id);
          if (admission.ok() && now != nullptr) keep->response() = ToProto(*cluster, *now);
          keep->Answer(admission.status());
        });
  });
}

}  // namespace gp::coordinator
