// Goal: every key of nanoGPT's train.py is known once, with the default that decides its type.
#include "client/gpctl/nanogpt/nanogpt_keys.h"

#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

TEST(NanogptKeys, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const NanogptKey& key : NanogptKeys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_EQ(FindNanogptKey(key.name), &key);
  }
  EXPECT_EQ(FindNanogptKey("learning rate"), nullptr);
}

TEST(NanogptKeys, TheDefaultsAreThoseOfTrainPy) {
  const PythonNames names = NanogptDefaults();
  EXPECT_EQ(names.size(), 33u);
  EXPECT_EQ(PythonText(names.at("gradient_accumulation_steps")), "40");
  EXPECT_EQ(PythonText(names.at("min_lr")), "6e-05");
  EXPECT_EQ(PythonText(names.at("bias")), "False");
  EXPECT_FALSE(names.contains("seed")) << "a key of bench.py and sample.py";
}

}  // namespace
}  // namespace gp::gpctl
