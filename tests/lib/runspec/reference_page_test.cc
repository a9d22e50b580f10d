#include "runspec/reference_page.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"

namespace gp::runspec {
namespace {

TEST(ReferencePage, TheDocumentIsWhatTheSchemaSays) {
  const std::string path = std::string(std::getenv("GP_SOURCE")) + "/docs/run-file.md";
  if (std::getenv("GP_REWRITE") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(path, ReferencePage()).ok());
  }
  const auto document = ReadFile(path);
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(*document, ReferencePage())
      << "docs/run-file.md is out of date; run this test with GP_REWRITE=1";
}

}  // namespace
}  // namespace gp::runspec
