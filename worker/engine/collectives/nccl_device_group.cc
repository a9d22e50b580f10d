#include <vector>

#include "worker/engine/collectives/device_group.h"
#include "worker/engine/collectives/nccl_communicator.h"

namespace gp::engine {

std::string MakeDeviceGroupId() { return MakeNcclId(); }

std::unique_ptr<Communicator> ConnectDeviceGroup(const GroupOptions& options, const std::string& id,
                                                 bool deterministic, const std::stop_token& stop) {
  return std::make_unique<NcclCommunicator>(options, id, deterministic, stop);
}

std::span<float> AllocateDeviceFloats(int device, size_t count) {
  CheckCuda(cudaSetDevice(device), "cudaSetDevice");
  static std::vector<DeviceMemory> taken;
  taken.emplace_back(static_cast<int64_t>(count * sizeof(float)));
  return {reinterpret_cast<float*>(taken.back().data()), count};
}

std::string DeviceGroupLibrary() {
  const NcclApi& nccl = NcclApi::Get();
  return "NCCL " + NcclVersionText(nccl.version) + " (" + nccl.path + ")";
}

}  // namespace gp::engine
