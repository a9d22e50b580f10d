// The endpoints about the gateway itself: /health, /version, /metrics, /openapi.json and related
// ones. Registered once; used in the loop.
#pragma once

#include <functional>
#include <string>

#include "client/gateway/metrics.h"
#include "client/gateway/models/model_service.h"
#include "http/router.h"

namespace gp::gateway {

struct GatewayFacts {
  std::string version;
  std::function<bool()> stopping;
  std::function<void()> observe;  // brings the metrics up to date
};

// The arguments must outlive the router.
void AddStatusRoutes(GatewayFacts facts, ModelService& models, GatewayMetrics& metrics,
                     http::Router& router);

}  // namespace gp::gateway
