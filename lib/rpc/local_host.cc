#include "rpc/local_host.h"

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/file.h"

namespace gp::rpc {
namespace {

// Any port: connecting a datagram socket only chooses the route.
constexpr char kPort[] = "9";

}  // namespace

StatusOr<std::string> LocalHostToward(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), kPort, &hints, &found); error != 0) {
    return Unavailable("host '{}' is unknown: {}", host, gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  const FileDescriptor probe(socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe.valid()) return ErrnoStatus(errno, "open a socket to", host);
  sockaddr_storage local{};
  socklen_t size = sizeof local;
  if (connect(probe.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      getsockname(probe.get(), reinterpret_cast<sockaddr*>(&local), &size) != 0) {
    return Unavailable("there is no route to '{}': {}", host, std::strerror(errno));
  }
  std::array<char, NI_MAXHOST> text{};
  if (const int error = getnameinfo(reinterpret_cast<const sockaddr*>(&local), size, text.data(),
                                    text.size(), nullptr, 0, NI_NUMERICHOST);
      error != 0) {
    return Unavailable("cannot format the local address used to reach '{}': {}", host,
                       gai_strerror(error));
  }
  return std::string(text.data());
}

}  // namespace gp::rpc
