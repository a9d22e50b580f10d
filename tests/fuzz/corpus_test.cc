// Runs a fuzz target over its corpus.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

#include "base/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace gp {
namespace {

TEST(Fuzz, EveryInputOfTheCorpusIsSurvived) {
  const char* source = std::getenv("GP_SOURCE");
  const std::string folder = JoinPath(source == nullptr ? "." : source, GP_FUZZ_CORPUS);
  const auto names = ListDirectory(folder);
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_GE(names->size(), 10u);
  for (const std::string& name : *names) {
    const std::string text = ReadFile(JoinPath(folder, name)).value();
    // Each input completely, and truncated at every byte.
    for (size_t size = 0; size <= text.size(); ++size) {
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), size);
    }
  }
}

}  // namespace
}  // namespace gp
