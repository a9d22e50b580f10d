#include "interop/tensor_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text/excerpt.h"
#include "lib/base/temporary_directory.h"

namespace gp::interop {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TensorNamesTest : public ::testing::Test {
 protected:
  // What FindTensorNames finds in a file with tensors of these names.
  StatusOr<TensorNames> Find(const std::vector<std::string>& names) {
    std::vector<formats::TensorEntry> entries;
    for (const std::string& name : names) entries.push_back({.name = name, .dtype = "F32"});
    const std::string path = directory_.File("model.safetensors");
    const std::string header = formats::FormatSafetensorsHeader(entries, {});
    EXPECT_TRUE(WriteFileAtomically(path, header + std::string(names.size() * 4, '\0')).ok());
    ASSIGN_OR_RETURN(const TensorSet tensors, TensorSet::OpenFile(path));
    return FindTensorNames(tensors, /*transposed=*/false);
  }

  // The tensors of a model below `prefix`, with the head below its own prefix.
  StatusOr<TensorNames> FindWith(const std::string& prefix, const std::string& head_prefix) {
    return Find({prefix + "wte.weight", prefix + "h.0.ln_1.bias", prefix + "h.0.attn.bias",
                 prefix + "ln_f.weight", head_prefix + "lm_head.weight"});
  }

  std::string Error(const std::vector<std::string>& names) { return Message(Find(names).status()); }

  TemporaryDirectory directory_;
};

// Case models-and-data/11: _orig_mod. before all names led to "tensor 'wte.weight' is missing".
TEST_F(TensorNamesTest, EveryStackOfPrefixesIsFound) {
  struct Case {
    std::string prefix, head_prefix, wrappers;
  };
  const Case cases[] = {
      {"", "", ""},
      {"transformer.", "", ""},
      {"_orig_mod.", "_orig_mod.", "_orig_mod."},
      {"_orig_mod.transformer.", "_orig_mod.", "_orig_mod."},
      {"module.transformer.", "module.", "module."},
      {"model.transformer.", "model.", "model."},
      {"module._orig_mod.transformer.", "module._orig_mod.", "module._orig_mod."},
      {"_orig_mod.module.model.transformer.", "_orig_mod.module.model.", "_orig_mod.module.model."},
      {"base_model.model.transformer.", "base_model.model.", "base_model.model."},
      {"_fsdp_wrapped_module.transformer.", "_fsdp_wrapped_module.", "_fsdp_wrapped_module."},
      // Only the body was compiled; or the body is in a submodule.
      {"transformer._orig_mod.", "", "transformer._orig_mod."},
      {"model.", "", "model."}};
  for (const auto& [prefix, head_prefix, wrappers] : cases) {
    const auto names = FindWith(prefix, head_prefix);
    ASSERT_TRUE(names.ok()) << prefix << ": " << names.status();
    EXPECT_EQ(names->prefix, prefix);
    EXPECT_EQ(names->head_prefix, head_prefix);
    EXPECT_EQ(names->Wrappers(), wrappers);
  }
}

TEST_F(TensorNamesTest, NamesThatBeginDifferentlyAreRefused) {
  EXPECT_THAT(Error({"_orig_mod.wte.weight", "wpe.weight"}),
              AllOf(HasSubstr("model.safetensors: the names of tensors"),
                    HasSubstr("'_orig_mod.wte.weight' and 'wpe.weight' have different prefixes")));
  EXPECT_THAT(Error({"module.wte.weight", "_orig_mod.lm_head.weight"}), HasSubstr("different "
                                                                                  "prefixes"));
  // The prefix of the head is longer than that of the module that contains it.
  EXPECT_THAT(Error({"wte.weight", "module.lm_head.weight"}), HasSubstr("different prefixes"));
}

TEST_F(TensorNamesTest, TwoTensorsOfOneNameAreRefused) {
  EXPECT_THAT(Error({"_orig_mod.wte.weight", "wte.weight"}),
              HasSubstr("'_orig_mod.wte.weight' and 'wte.weight' are both 'wte.weight' without"));
  EXPECT_THAT(Error({"model.lm_head.weight", "lm_head.weight", "model.wte.weight"}),
              HasSubstr("are both 'lm_head.weight'"));
}

TEST_F(TensorNamesTest, AdaptersAreRefusedInWords) {
  for (const char* name :
       {"base_model.model.transformer.h.0.attn.c_attn.lora_A.weight",
        "base_model.model.transformer.h.0.attn.c_attn.lora_B.default.weight",
        "transformer.h.0.attn.c_attn.base_layer.weight",
        "base_model.model.transformer.wte.lora_embedding_A",
        "base_model.model.lm_head.modules_to_save.default.weight",
        "base_model.model.transformer.h.0.mlp.c_proj.ia3_l", "prompt_embeddings"}) {
    const auto found = Find({"wte.weight", name});
    EXPECT_EQ(found.status().code(), StatusCode::kFailedPrecondition) << name;
    EXPECT_THAT(Message(found.status()),
                AllOf(HasSubstr("holds an adapter of peft"), HasSubstr(Excerpt(name)),
                      HasSubstr("merge_and_unload().save_pretrained('NEW')")));
  }
}

TEST_F(TensorNamesTest, TensorsOfOtherModelsDecideNothing) {
  const auto names = Find({"encoder.wte.weight", "model.layers.0.weight"});
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(names->prefix, "");
  EXPECT_TRUE(Find({}).ok());
}

}  // namespace
}  // namespace gp::interop
