#include "runspec/named_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runspec/schema.h"

namespace gp::runspec {
namespace {

std::vector<std::string> Texts(const RunSpec& spec) {
  std::vector<std::string> texts;
  for (const NamedFile& file : FilesNamedBy(spec)) texts.push_back(file.key + "=" + file.path);
  return texts;
}

TEST(FilesNamedBy, AreThoseOfEveryKeyThatNamesOne) {
  RunSpec spec;
  spec.init_from = "/models/gpt2";
  spec.data.text = {"/a.txt", "/b*.txt"};
  spec.data.train = {"/t.bin"};
  spec.data.stream = {"/s"};
  spec.data.val = {"/v.bin"};
  spec.data.tokenizer = "/tokenizer.json";
  spec.eval.tasks = {"/q.jsonl"};
  EXPECT_THAT(Texts(spec), ::testing::UnorderedElementsAre(
                               "init_from=/models/gpt2", "data.text=/a.txt", "data.text=/b*.txt",
                               "data.train=/t.bin", "data.stream=/s", "data.val=/v.bin",
                               "data.tokenizer=/tokenizer.json", "eval.tasks=/q.jsonl"));
}

TEST(FilesNamedBy, AreNoneWhereTheValueIsAChoice) {
  RunSpec spec;
  spec.data.tokenizer = "gpt2";
  EXPECT_THAT(Texts(spec), ::testing::IsEmpty());
}

}  // namespace
}  // namespace gp::runspec
