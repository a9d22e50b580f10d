#include "daemon/address_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "lib/base/temporary_directory.h"

namespace gp::daemon {
namespace {

TEST(AddressFile, HoldsTheAddressesAndTheProcess) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("address");
  ASSERT_TRUE(WriteAddressFile(path, {"127.0.0.1:1", "127.0.0.1:2"}).ok());
  EXPECT_EQ(
      nlohmann::json::parse(ReadFile(path).value()),
      (nlohmann::json{{"address", "127.0.0.1:1"}, {"metrics", "127.0.0.1:2"}, {"pid", getpid()}}));
}

TEST(AddressFile, WithoutAPathNothingIsWritten) {
  EXPECT_TRUE(WriteAddressFile("", {"127.0.0.1:1", "127.0.0.1:2"}).ok());
}

TEST(AddressFile, APathThatCannotBeWrittenIsNamed) {
  const Status status = WriteAddressFile("/nonexistent/address", {});
  EXPECT_NE(Message(status).find("--address-file"), std::string::npos) << status;
  EXPECT_NE(Message(status).find("/nonexistent"), std::string::npos) << status;
}

}  // namespace
}  // namespace gp::daemon
