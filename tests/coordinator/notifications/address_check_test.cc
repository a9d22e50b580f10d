#include "coordinator/notifications/address_check.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <string>

namespace gp::coordinator {
namespace {

sockaddr_storage AddressOf(const std::string& text) {
  sockaddr_storage storage{};
  auto& four = reinterpret_cast<sockaddr_in&>(storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(storage);
  if (inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    storage.ss_family = AF_INET;
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &six.sin6_addr), 1) << text;
    storage.ss_family = AF_INET6;
  }
  return storage;
}

AddressKind KindOf(const std::string& text) {
  const sockaddr_storage address = AddressOf(text);
  return CheckAddress(reinterpret_cast<const sockaddr&>(address)).kind;
}

TEST(AddressCheck, PublicAddressesMayBeReached) {
  for (const char* text :
       {"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0",
        "192.167.255.255", "223.255.255.255", "168.63.129.17", "2606:4700::1111", "2a00:1450::1",
        "2001:4860::8888", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"}) {
    EXPECT_EQ(KindOf(text), AddressKind::kPublic) << text;
  }
}

TEST(AddressCheck, PrivateAddressesNeedLeave) {
  for (const char* text :
       {"127.0.0.1", "127.255.255.255", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
        "100.64.0.1", "100.127.255.255", "::1", "fc00::1", "fd12:3456::1", "::ffff:127.0.0.1",
        "::ffff:10.1.2.3", "64:ff9b::192.168.0.1", "2002:7f00:1::1"}) {
    EXPECT_EQ(KindOf(text), AddressKind::kPrivate) << text;
  }
}

TEST(AddressCheck, LinkLocalMetadataAndReservedAddressesAreAlwaysRefused) {
  for (const char* text : {"169.254.169.254",
                           "169.254.0.1",
                           "168.63.129.16",
                           "100.100.100.200",
                           "192.0.0.192",
                           "0.0.0.0",
                           "0.1.2.3",
                           "192.0.2.1",
                           "198.18.0.1",
                           "198.51.100.7",
                           "203.0.113.9",
                           "224.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::7f00:1",
                           "fe80::1",
                           "fec0::1",
                           "ff02::1",
                           "fd00:ec2::254",
                           "fd20:ce::254",
                           "2001:db8::1",
                           "2001::1",
                           "100::1",
                           "64:ff9b:1::1",
                           "::ffff:169.254.169.254",
                           "64:ff9b::169.254.169.254",
                           "2002:a9fe:a9fe::1",
                           "4000::1"}) {
    EXPECT_EQ(KindOf(text), AddressKind::kRefused) << text;
  }
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  EXPECT_EQ(CheckAddress(reinterpret_cast<const sockaddr&>(local)).kind, AddressKind::kRefused);
}

TEST(AddressCheck, TheRefusalSaysWhyAndWhatToDo) {
  const auto refusal = [](const std::string& text, bool allow_private) {
    const sockaddr_storage address = AddressOf(text);
    return AddressRefusal(reinterpret_cast<const sockaddr&>(address), allow_private);
  };
  EXPECT_EQ(refusal("127.0.0.1", false),
            "127.0.0.1 is a loopback address; if the target is meant to be there, set "
            "allow_private_addresses: true");
  EXPECT_EQ(refusal("127.0.0.1", true), std::nullopt);
  EXPECT_EQ(refusal("169.254.169.254", true),
            "169.254.169.254 is a link-local address, where metadata services are; notifications "
            "are never sent there");
  EXPECT_EQ(refusal("1.1.1.1", false), std::nullopt);
}

}  // namespace
}  // namespace gp::coordinator
