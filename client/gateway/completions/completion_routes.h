// The endpoints that speak about text and models: /v1/completions, /v1/models, /tokenize and those
// beside them. Registered once; used in the loop.
#pragma once

#include "client/gateway/http/router.h"
#include "client/gateway/http/work_pool.h"
#include "client/gateway/models/model_service.h"

namespace gp::gateway {

// All of these outlive the router.
void AddCompletionRoutes(ModelService& models, WorkPool& work, Router& router);
void AddTokenizerRoutes(ModelService& models, WorkPool& work, Router& router);
void AddModelRoutes(ModelService& models, Router& router);

}  // namespace gp::gateway
