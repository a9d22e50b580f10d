#include "rpc/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/file.h"
#include "rpc/socket_name.h"

namespace gp::rpc {
namespace {

constexpr std::string_view kSocketPrefix = "unix:";

Status Malformed(std::string_view text) {
  return InvalidArgument(
      "'{}' is not an address; expected HOST:PORT with a port from 0 (any free one) to 65535, such "
      "as 127.0.0.1:5075, or unix:PATH with an absolute path",
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

Status TryBindTcp(const ListenAddress& address) {
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

// Whether a program listens at the socket: a killed program leaves its socket file behind.
StatusOr<bool> HasListener(const std::string& path) {
  ASSIGN_OR_RETURN(const SocketName name, SocketName::Of(path));
  const FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe.valid()) return ErrnoStatus(errno, "open a socket for", path);
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  std::memcpy(target.sun_path, name.text().c_str(), name.text().size() + 1);
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0) {
    return true;
  }
  if (errno == ECONNREFUSED || errno == ENOENT) return false;
  return ErrnoStatus(errno, "listen on", path);
}

Status CheckSocketFree(const std::string& path) {
  const std::string directory = DirectoryOf(path);
  if (access(directory.c_str(), W_OK | X_OK) != 0) {
    return ErrnoStatus(errno, "make a socket in", directory);
  }
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return OkStatus();
  if (!S_ISSOCK(status.st_mode)) {
    return AlreadyExists("cannot listen on unix:{}: the file exists and is not a socket", path);
  }
  ASSIGN_OR_RETURN(const bool taken, HasListener(path));
  if (!taken) return OkStatus();
  return AlreadyExists("cannot listen on unix:{}: another program listens there", path);
}

bool IsLoopbackHost(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return host == "localhost";
}

}  // namespace

bool ListenAddress::IsLocal() const { return is_socket() || IsLoopbackHost(host); }

std::string ListenAddress::Text() const {
  if (is_socket()) return fmt::format("{}{}", kSocketPrefix, path);
  if (host.find(':') != std::string::npos) return fmt::format("[{}]:{}", host, port);
  return fmt::format("{}:{}", host, port);
}

ListenAddress ListenAddress::Reachable() const {
  if (host == "0.0.0.0") return {"127.0.0.1", port};
  if (host == "::") return {"::1", port};
  return *this;
}

StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  if (text.starts_with(kSocketPrefix)) {
    const std::string_view path = text.substr(kSocketPrefix.size());
    if (path.size() < 2 || path.front() != '/') return Malformed(text);
    return ListenAddress{.path = std::string(path)};
  }
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

bool IsLocalAddress(std::string_view text) {
  const auto address = ParseListenAddress(text);
  return address.ok() && address->IsLocal();
}

Status CheckBindable(const ListenAddress& address) {
  return address.is_socket() ? CheckSocketFree(address.path) : TryBindTcp(address);
}

Status CheckPrivate(const ListenAddress& address, bool insecure) {
  if (insecure || address.IsLocal()) return OkStatus();
  return InvalidArgument(
      "{} can be reached from other machines, and anyone can connect to it without encryption; "
      "listen on 127.0.0.1, or accept that with --insecure",
      address.Text());
}

}  // namespace gp::rpc
