#include "coordinator/notifications/address_check.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

namespace gp::coordinator {
namespace {

using Bytes4 = std::array<uint8_t, 4>;
using Bytes16 = std::array<uint8_t, 16>;

template <typename Bytes>
struct Block {
  Bytes prefix;
  int bits;
  AddressKind kind;
  std::string_view what;
};

constexpr AddressKind kPrivate = AddressKind::kPrivate;
constexpr AddressKind kRefused = AddressKind::kRefused;

// The special-purpose registry of IPv4 (RFC 6890), and the metadata services of clouds that are
// outside of link-local. The first match decides.
constexpr Block<Bytes4> kBlocks4[] = {
    {{100, 100, 100, 200}, 32, kRefused, "a metadata service"},
    {{168, 63, 129, 16}, 32, kRefused, "a metadata service"},
    {{192, 0, 0, 192}, 32, kRefused, "a metadata service"},
    {{127, 0, 0, 0}, 8, kPrivate, "a loopback address"},
    {{10, 0, 0, 0}, 8, kPrivate, "a private address"},
    {{172, 16, 0, 0}, 12, kPrivate, "a private address"},
    {{192, 168, 0, 0}, 16, kPrivate, "a private address"},
    {{100, 64, 0, 0}, 10, kPrivate, "a private address"},
    {{169, 254, 0, 0}, 16, kRefused, "a link-local address, where metadata services are"},
    {{0, 0, 0, 0}, 8, kRefused, "a reserved address"},
    {{192, 0, 0, 0}, 24, kRefused, "a reserved address"},
    {{192, 0, 2, 0}, 24, kRefused, "a reserved address"},
    {{192, 88, 99, 0}, 24, kRefused, "a reserved address"},
    {{198, 18, 0, 0}, 15, kRefused, "a reserved address"},
    {{198, 51, 100, 0}, 24, kRefused, "a reserved address"},
    {{203, 0, 113, 0}, 24, kRefused, "a reserved address"},
    {{224, 0, 0, 0}, 4, kRefused, "a multicast address"},
    {{240, 0, 0, 0}, 4, kRefused, "a reserved address"},
};

// IPv6 uses only 2000::/3 for public addresses; these are the exceptions and the private ones.
constexpr Block<Bytes16> kBlocks6[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, kPrivate, "a loopback address"},
    {{0xfd, 0x00, 0x0e, 0xc2}, 32, kRefused, "a metadata service"},
    {{0xfd, 0x20, 0x00, 0xce}, 32, kRefused, "a metadata service"},
    {{0xfc}, 7, kPrivate, "a private address"},
    {{0xfe, 0x80}, 10, kRefused, "a link-local address"},
    {{0xff}, 8, kRefused, "a multicast address"},
    {{0x20, 0x01, 0x00}, 23, kRefused, "a reserved address"},
    {{0x20, 0x01, 0x0d, 0xb8}, 32, kRefused, "a reserved address"},
    {{0x3f, 0xff}, 20, kRefused, "a reserved address"},
    {{0x20}, 3, AddressKind::kPublic, ""},
};

// IPv6 addresses that hold an IPv4 address, from the byte `offset` on.
struct Holder {
  Bytes16 prefix;
  int bits;
  size_t offset;
};

constexpr Holder kHolders[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, 12},  // mapped
    {{0x00, 0x64, 0xff, 0x9b}, 96, 12},                    // NAT64
    {{0x20, 0x02}, 16, 2},                                 // 6to4
};

bool HasPrefix(std::span<const uint8_t> address, std::span<const uint8_t> prefix, int bits) {
  const auto whole = static_cast<size_t>(bits / 8);
  if (std::memcmp(address.data(), prefix.data(), whole) != 0) return false;
  const int rest = bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<uint8_t>(0xff << (8 - rest));
  return (address[whole] & mask) == (prefix[whole] & mask);
}

CheckedAddress Judge(const Bytes4& address) {
  for (const auto& block : kBlocks4) {
    if (HasPrefix(address, block.prefix, block.bits)) return {"", block.kind, block.what};
  }
  return {"", AddressKind::kPublic, ""};
}

CheckedAddress Judge(const Bytes16& address) {
  for (const Holder& holder : kHolders) {
    if (!HasPrefix(address, holder.prefix, holder.bits)) continue;
    Bytes4 held{};
    std::memcpy(held.data(), address.data() + holder.offset, held.size());
    return Judge(held);
  }
  for (const auto& block : kBlocks6) {
    if (HasPrefix(address, block.prefix, block.bits)) return {"", block.kind, block.what};
  }
  return {"", kRefused, "a reserved address"};
}

template <typename Bytes>
CheckedAddress Checked(int family, const void* raw) {
  Bytes bytes{};
  std::memcpy(bytes.data(), raw, bytes.size());
  CheckedAddress checked = Judge(bytes);
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(family, raw, text, sizeof text);
  checked.text = text;
  return checked;
}

}  // namespace

CheckedAddress CheckAddress(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return Checked<Bytes4>(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  }
  if (address.sa_family == AF_INET6) {
    return Checked<Bytes16>(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  }
  return {"?", kRefused, "not an IP address"};
}

std::optional<std::string> AddressRefusal(const sockaddr& address, bool allow_private) {
  const CheckedAddress checked = CheckAddress(address);
  if (checked.kind == AddressKind::kPublic) return std::nullopt;
  if (checked.kind == kRefused) {
    return fmt::format("{} is {}; notifications are never sent there", checked.text, checked.what);
  }
  if (allow_private) return std::nullopt;
  return fmt::format(
      "{} is {}; if the target is meant to be there, set allow_private_addresses: true",
      checked.text, checked.what);
}

}  // namespace gp::coordinator
