// The one-shot mode of gp-sampler, as a process.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "base/file.h"
#include "base/random_id.h"
#include "worker/engine/fakes/random_checkpoint.h"

namespace gp::engine {
namespace {

std::string OutputOf(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::string output;
  for (int byte; (byte = std::fgetc(pipe)) != EOF;) output += static_cast<char>(byte);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

TEST(SamplerCommand, PrintsWholeTextsAlsoWhereTheyHoldANulByte) {
  const std::string directory = testing::TempDir() + "gp-sampler-command-" + RandomId(8);
  const std::string checkpoint = WriteRandomCheckpoint(directory, 5);
  const std::string output =
      OutputOf(std::string(GP_SAMPLER_PROGRAM) + " --checkpoint '" + checkpoint +
               "' --prompt T --max-tokens 400 --temperature 1 --top-k 0 --count 8 2>/dev/null");
  EXPECT_NE(output.find('\0'), std::string::npos) << output.size() << " bytes";
  EXPECT_GE(output.size(), 8 * 400);
  EXPECT_TRUE(RemoveTree(directory).ok());
}

}  // namespace
}  // namespace gp::engine
