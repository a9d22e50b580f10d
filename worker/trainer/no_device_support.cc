#include <nlohmann/json.hpp>

#include "worker/trainer/device_support.h"

namespace gp::engine {

std::string DeviceSupport() {
  const nlohmann::ordered_json support = {
      {"libraries", nlohmann::json::array()},
      {"devices", nlohmann::json::array()},
      {"problem",
       "this program computes on CPUs; gp-trainer-cuda and gp-bench-cuda, which `make gpu` builds, "
       "compute on NVIDIA GPUs"}};
  return support.dump(2);
}

}  // namespace gp::engine
