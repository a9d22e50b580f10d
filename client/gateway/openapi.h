// The description of the gateway's endpoints, compiled in. Constant.
#pragma once

#include <string_view>

namespace gp::gateway {

// OpenAPI 3.0, as JSON.
std::string_view OpenApiText();

}  // namespace gp::gateway
