#include "security/server_hosts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <array>
#include <set>

namespace gp::security {
namespace {

constexpr size_t kInterfaceAddressesMax = 64;

std::string AddressOf(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
  } else if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    // A link-local address needs its interface, which a certificate cannot hold.
    if (!IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) {
      inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
    }
  }
  return text.data();
}

void AddInterfaces(std::set<std::string>& hosts) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || hosts.size() >= kInterfaceAddressesMax) continue;
    const std::string address = AddressOf(entry->ifa_addr);
    if (!address.empty()) hosts.insert(address);
  }
  freeifaddrs(first);
}

}  // namespace

std::vector<std::string> ServerHosts(const std::string& listen_host) {
  std::set<std::string> hosts = {"localhost", "127.0.0.1", "::1"};
  if (listen_host == "0.0.0.0" || listen_host == "::") {
    AddInterfaces(hosts);
  } else if (!listen_host.empty()) {
    hosts.insert(listen_host);
  }
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0') hosts.insert(name.data());
  return {hosts.begin(), hosts.end()};
}

}  // namespace gp::security
