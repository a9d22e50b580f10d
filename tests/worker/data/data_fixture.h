// Files and run specs for the data tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "formats/token_shard.h"
#include "lib/base/temporary_directory.h"
#include "plan/run_spec.h"

namespace gp::engine {

class DataTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = JoinPath(directory_.path(), name);
    EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
    return path;
  }

  // Writes an llm.c shard with tokens first, first + 1, ... modulo `modulus`.
  std::string WriteShard(const std::string& name, int32_t first, int32_t count, int32_t modulus) {
    std::vector<int32_t> tokens;
    for (int32_t i = 0; i < count; ++i) tokens.push_back((first + i) % modulus);
    return Write(name, formats::FormatLlmCShard(tokens));
  }

  TemporaryDirectory directory_;
};

}  // namespace gp::engine
