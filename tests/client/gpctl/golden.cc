#include "client/gpctl/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace gp::testing {

void ExpectGoldenFile(const std::string& file_path, const std::string& text) {
  const char* source = std::getenv("GP_SOURCE");
  const std::string path = std::string(source == nullptr ? "." : source) + "/" + file_path;
  if (std::getenv("GP_REWRITE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << " is missing; GP_REWRITE_GOLDEN=1 writes it";
  std::stringstream recorded;
  recorded << file.rdbuf();
  EXPECT_EQ(text, recorded.str()) << path << "; GP_REWRITE_GOLDEN=1 accepts the new text";
}

void ExpectGolden(const std::string& name, const std::string& text) {
  ExpectGoldenFile("tests/client/gpctl/golden/" + name, text);
}

}  // namespace gp::testing
