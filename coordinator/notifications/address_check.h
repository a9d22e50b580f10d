// AddressCheck: which network addresses a notification may be sent to, so that nobody can use the
// coordinator to reach services of its own network (request forgery). The address is checked after
// name resolution, on the socket that is about to connect. Pure; thread-safe.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

namespace gp::coordinator {

enum class AddressKind {
  kPublic,
  kPrivate,  // this machine or a private network: only if the target allows it
  kRefused,  // link-local and metadata services, multicast, reserved: never
};

struct CheckedAddress {
  std::string text;  // "127.0.0.1"
  AddressKind kind = AddressKind::kRefused;
  std::string_view what;  // "a loopback address"; empty if public
};

// `address` is an IPv4 or IPv6 address; every other family is refused. An IPv6 address that holds
// an IPv4 address (mapped, NAT64, 6to4) is judged by that one.
CheckedAddress CheckAddress(const sockaddr& address);

// Why a target may not be reached at this address; nullopt when it may.
std::optional<std::string> AddressRefusal(const sockaddr& address, bool allow_private);

}  // namespace gp::coordinator
