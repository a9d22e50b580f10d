// The endpoints for text and models: /v1/completions, /v1/models, /tokenize and related ones.
// Registered once; used in the loop.
#pragma once

#include "client/gateway/models/model_service.h"
#include "http/offload_pool.h"
#include "http/router.h"

namespace gp::gateway {

// The arguments must outlive the router. A body that is longer than `body_bytes_max` once it is
// decoded is refused.
void AddCompletionRoutes(ModelService& models, http::OffloadPool& work, size_t body_bytes_max,
                         http::Router& router);
void AddTokenizerRoutes(ModelService& models, http::OffloadPool& work, size_t body_bytes_max,
                        http::Router& router);
void AddModelRoutes(ModelService& models, http::Router& router);

}  // namespace gp::gateway
