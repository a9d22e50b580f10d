// The object store that object_stores_test.py has started for these tests, and storages in it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "base/random_id.h"
#include "lib/storage/object/test_client.h"

namespace gp::object {

inline std::string VariableOf(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// "127.0.0.1:1234"
inline std::string StoreHost() { return VariableOf("GP_OBJECT_STORE"); }

inline CredentialSource& StoreCredentials() {
  static FixedCredentials credentials({.access_key_id = VariableOf("AWS_ACCESS_KEY_ID"),
                                       .secret_access_key = VariableOf("AWS_SECRET_ACCESS_KEY")});
  return credentials;
}

// A place in the store's bucket that no other test uses.
inline std::string NewRoot() { return "s3://bucket/" + RandomId(12) + "/root"; }

// A storage at the store, or at a proxy before it.
inline std::unique_ptr<ObjectStorage> StorageAt(
    const std::string& host, const std::string& root,
    std::chrono::milliseconds budget = std::chrono::seconds(60)) {
  ObjectStorageOptions options;
  options.root = root;
  options.endpoint = "http://" + host;
  options.parts.part_bytes = size_t{5} << 20;
  options.transport.silence = std::chrono::seconds(1);
  options.retry = ShortPauses(budget);
  auto storage = ObjectStorage::Make(options, StoreCredentials(), SystemClock());
  EXPECT_TRUE(storage.ok()) << storage.status();
  return std::move(storage).value();
}

// Bytes that differ from place to place and from seed to seed.
inline std::string SomeBytes(size_t size, uint32_t seed) {
  std::string bytes(size, '\0');
  uint32_t state = seed * 2654435761u + 1;
  for (char& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

}  // namespace gp::object
