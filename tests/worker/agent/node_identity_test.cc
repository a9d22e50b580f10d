#include "worker/agent/node_identity.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/random_id.h"

namespace gp::agent {
namespace {

class NodeIdentity : public testing::Test {
 protected:
  NodeIdentity() { std::filesystem::create_directories(directory_); }
  ~NodeIdentity() override { std::filesystem::remove_all(directory_); }

  const std::string directory_ = testing::TempDir() + "node_identity_" + RandomId(8);
};

TEST_F(NodeIdentity, IsMadeOnceAndKept) {
  const auto first = LoadNodeId(directory_);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->size(), 10u);
  EXPECT_EQ(*LoadNodeId(directory_), *first);
}

TEST_F(NodeIdentity, ADamagedFileIsNotReplaced) {
  const std::string path = directory_ + "/node_id";
  for (const char* content : {"", "short", "UPPERCASE1", "0123456789abcdef", "..........\n"}) {
    ASSERT_TRUE(WriteFileAtomically(path, content).ok());
    EXPECT_EQ(LoadNodeId(directory_).status().code(), StatusCode::kDataLoss) << content;
    EXPECT_EQ(*ReadFile(path), content);
  }
}

}  // namespace
}  // namespace gp::agent
