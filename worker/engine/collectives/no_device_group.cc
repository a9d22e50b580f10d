#include <stdexcept>

#include "worker/engine/collectives/device_group.h"

namespace gp::engine {
namespace {

[[noreturn]] void Refuse() {
  throw std::runtime_error(
      "this program was built without CUDA and cannot sum the gradients of GPUs; gp-trainer-cuda "
      "and gp-peer-bench-cuda can");
}

}  // namespace

std::string MakeDeviceGroupId() { Refuse(); }

std::unique_ptr<Communicator> ConnectDeviceGroup(const GroupOptions&, const std::string&, bool,
                                                 const std::stop_token&) {
  Refuse();
}

std::span<float> AllocateDeviceFloats(int, size_t) { Refuse(); }

std::string DeviceGroupLibrary() { Refuse(); }

}  // namespace gp::engine
