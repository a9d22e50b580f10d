// NotificationService: the gRPC service that shows the notification targets and tests them.
// Thread-safe.
#pragma once

#include "coordinator/notifications/notifier.h"
#include "coordinator/service/method_service.h"
#include "gp/v1/notification_service.grpc.pb.h"

namespace gp::coordinator {

class NotificationService final : public MethodService<v1::NotificationService> {
 public:
  // `notifier`: null if no targets are configured; otherwise it must outlive this object.
  NotificationService(const ServiceContext& context, Notifier* notifier);

 private:
  using TestCall =
      PooledCall<v1::TestNotificationTargetRequest, v1::TestNotificationTargetResponse>;

  Status List(v1::ListNotificationTargetsResponse& response) const;
  void Test(TestCall& call);

  Notifier* const notifier_;
};

}  // namespace gp::coordinator
