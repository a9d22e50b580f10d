#include "tokenizer/json_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/base/temporary_directory.h"

namespace gp {
namespace {

using ::testing::HasSubstr;

TEST(JsonFile, ErrorsNameTheFile) {
  const TemporaryDirectory directory;
  EXPECT_EQ((*ReadJsonFile(directory.Write("good.json", R"({"a": 1})")))["a"], 1);
  EXPECT_THAT(Message(ReadTokenizerText(directory.Write("empty.json", "")).status()),
              HasSubstr("empty.json: the file is empty"));
  EXPECT_THAT(Message(ReadJsonFile(directory.Write("twice.json", R"({"a": 1, "a": 2})")).status()),
              HasSubstr("twice.json"));
  EXPECT_THAT(Message(ReadJsonFile(directory.File("absent.json")).status()),
              HasSubstr("absent.json"));
}

TEST(JsonFile, AFileThatIsTooLargeIsNotRead) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("large.txt", std::string((32 << 20) + 1, ' '));
  EXPECT_THAT(Message(ReadTokenizerText(path).status()), HasSubstr("large.txt"));
}

}  // namespace
}  // namespace gp
