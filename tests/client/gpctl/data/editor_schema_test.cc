#include "client/gpctl/data/editor_schema.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lib/base/temporary_directory.h"

namespace gp::gpctl {
namespace {

class EditorSchemaLineTest : public ::testing::Test {
 protected:
  // An empty schema at `path` of the directory.
  std::string MakeSchema(const std::string& path) {
    const std::filesystem::path file = directory_.File(path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "{}";
    return file.string();
  }

  TemporaryDirectory directory_;
};

TEST_F(EditorSchemaLineTest, NamesTheSchemaOfAnInstallation) {
  const std::string schema = MakeSchema("share/gp/configs/schemas/run-file.json");
  EXPECT_EQ(EditorSchemaLine(directory_.File("bin")),
            "# yaml-language-server: $schema=" + schema + "\n");
}

TEST_F(EditorSchemaLineTest, NamesTheSchemaOfABuildTree) {
  const std::string schema = MakeSchema("configs/schemas/run-file.json");
  EXPECT_EQ(EditorSchemaLine(directory_.File("build/release/bin")),
            "# yaml-language-server: $schema=" + schema + "\n");
}

TEST_F(EditorSchemaLineTest, IsEmptyWithoutASchemaThatItCanName) {
  EXPECT_EQ(EditorSchemaLine(directory_.File("bin")), "");
  MakeSchema("my gp/share/gp/configs/schemas/run-file.json");
  EXPECT_EQ(EditorSchemaLine(directory_.File("my gp/bin")), "");
}

}  // namespace
}  // namespace gp::gpctl
