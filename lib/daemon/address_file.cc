#include "daemon/address_file.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace gp::daemon {

Status WriteAddressFile(const std::string& path, const ServedAddresses& addresses) {
  if (path.empty()) return OkStatus();
  nlohmann::json content = {
      {"address", addresses.address}, {"metrics", addresses.metrics}, {"pid", getpid()}};
  if (!addresses.listen.empty()) content["listen"] = addresses.listen;
  return WithContext(WriteFileAtomically(path, content.dump() + "\n"), "--address-file");
}

}  // namespace gp::daemon
