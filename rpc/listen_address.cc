#include "rpc/listen_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/file.h"

namespace gp::rpc {
namespace {

Status Malformed(std::string_view text) {
  return InvalidArgument(
      "'{}' is not an address to listen on; expected HOST:PORT with a port from 0 (any free one) "
      "to 65535, such as 127.0.0.1:5075",
      text);
}

Status BindFailure(int error_number, const std::string& text) {
  if (error_number == EADDRINUSE) {
    return AlreadyExists(
        "cannot listen on {}: the port is in use by another program; choose another port, or 0 for "
        "any free one",
        text);
  }
  return ErrnoStatus(error_number, "listen on", text);
}

Status TryBind(const addrinfo& target, const std::string& text) {
  FileDescriptor probe(socket(target.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe.valid()) return ErrnoStatus(errno, "open a socket for", text);
  const int yes = 1;
  setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(probe.get(), target.ai_addr, target.ai_addrlen) != 0) return BindFailure(errno, text);
  // Two sockets may both bind with SO_REUSEADDR; only one may listen.
  if (listen(probe.get(), 1) != 0) return BindFailure(errno, text);
  return OkStatus();
}

}  // namespace

std::string ListenAddress::Text() const {
  if (host.find(':') != std::string::npos) return fmt::format("[{}]:{}", host, port);
  return fmt::format("{}:{}", host, port);
}

ListenAddress ListenAddress::Reachable() const {
  if (host == "0.0.0.0") return {"127.0.0.1", port};
  if (host == "::") return {"::1", port};
  return *this;
}

StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return Malformed(text);
  std::string_view host = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return Malformed(text);
  }
  int port = -1;
  const auto parsed = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == port_text.data() + port_text.size();
  if (!whole || host.empty() || port < 0 || port > 65535) return Malformed(text);
  return ListenAddress{std::string(host), port};
}

Status CheckBindable(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) {
    return InvalidArgument("cannot listen on {}: host '{}' is unknown: {}", address.Text(),
                           address.host, gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  return TryBind(*found, address.Text());
}

}  // namespace gp::rpc
