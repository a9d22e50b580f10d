#include "interop/unread_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "interop/model_format.h"
#include "lib/base/temporary_directory.h"

namespace gp::interop {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kPickleWords[] = "can run any program when it is read";
constexpr char kTorchPage[] = "docs/formats/nanogpt-model.md shows how to write the weights";

// A file like those that torch.save writes.
std::string Archive() {
  return std::string("PK\x03\x04\0\0 archive/data.pkl", 24) + "weights" +
         std::string("PK\x05\x06\0\0\0\0\0\0\0\0", 12);
}

class UnreadModelTest : public ::testing::Test {
 protected:
  // A directory that contains files of these names.
  std::string Directory(const std::vector<std::string>& names, const std::string& bytes = "x") {
    const std::string directory = directory_.File("d" + std::to_string(++count_));
    EXPECT_TRUE(MakeDirectories(directory).ok());
    for (const std::string& name : names) {
      const std::string path = JoinPath(directory, name);
      EXPECT_TRUE(MakeDirectories(DirectoryOf(path)).ok());
      EXPECT_TRUE(WriteFileAtomically(path, bytes).ok());
    }
    return directory;
  }
  std::string File(const std::string& name, const std::string& bytes) {
    return JoinPath(Directory({name}, bytes), name);
  }
  // The error message of importing `path`.
  static std::string Error(const std::string& path) { return Message(OpenModelAt(path).status()); }
  std::string ErrorOf(const std::vector<std::string>& names) { return Error(Directory(names)); }

  TemporaryDirectory directory_;
  int count_ = 0;
};

// nanoGPT writes no other file. Case models-and-data/12: the error did not recognise nanoGPT's
// ckpt.pt.
TEST_F(UnreadModelTest, ACheckpointOfNanoGptIsNamedWithItsPage) {
  for (const char* name : {"ckpt.pt", "model.pth", "last.ckpt"}) {
    const std::string path = File(name, Archive());
    EXPECT_THAT(Error(path), AllOf(HasSubstr(std::string(name) + " is a file of torch.save"),
                                   HasSubstr(kPickleWords), HasSubstr(kTorchPage)));
    const std::string directory = DirectoryOf(path);
    const std::string said =
        std::string(" holds its weights as ") + name + ", a file of torch.save";
    EXPECT_THAT(Error(directory), AllOf(HasSubstr(said), HasSubstr(kTorchPage)));
    EXPECT_THAT(Message(OpenModel(directory, ModelFormat::kNanoGpt).status()), HasSubstr(said));
    EXPECT_THAT(Message(OpenModel(directory, ModelFormat::kHuggingFace).status()), HasSubstr(said));
  }
  // The directory has the model's arguments but no readable weights.
  EXPECT_THAT(Error(File("ckpt.pt", "\x80\x02}q\x01.")), HasSubstr("is a file of torch.save"));
  const std::string half = Directory({"ckpt.pt", "model_args.json"},
                                     R"({"n_layer":1,"n_head":1,"n_embd":1,"block_size":1,)"
                                     R"("bias":true,"vocab_size":2})");
  EXPECT_THAT(Error(half), HasSubstr("holds its weights as ckpt.pt"));
}

TEST_F(UnreadModelTest, AnArchiveWithoutItsEndIsCutShort) {
  const std::string whole = Archive();
  for (const size_t size : {size_t{4}, size_t{24}, whole.size() - 12}) {
    const std::string path = File("ckpt.pt", whole.substr(0, size));
    for (const std::string& named : {path, DirectoryOf(path)}) {
      EXPECT_THAT(Error(named), AllOf(HasSubstr("ckpt.pt is a file of torch.save"),
                                      HasSubstr("but the end of its archive is missing; copy the "
                                                "file again; docs/formats/nanogpt-model.md")));
    }
  }
  EXPECT_THAT(Error(File("ckpt.pt", "")), HasSubstr("ckpt.pt is empty"));
}

TEST_F(UnreadModelTest, APointerSaysHowToFetchTheFile) {
  const std::string path =
      File("pytorch_model.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n");
  for (const std::string& named : {path, DirectoryOf(path)}) {
    EXPECT_THAT(Error(named), HasSubstr("is a Git LFS pointer and not the file itself"));
  }
}

TEST_F(UnreadModelTest, OtherFormsOfWeightsSayWhatWritesSafetensors) {
  const std::string saved = "').save_pretrained('NEW')";
  EXPECT_THAT(
      ErrorOf({"pytorch_model.bin"}),
      AllOf(HasSubstr("holds its weights as pytorch_model.bin, a pickle"),
            HasSubstr("GPT2LMHeadModel.from_pretrained('" + directory_.path()), HasSubstr(saved)));
  EXPECT_THAT(ErrorOf({"pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin",
                       "pytorch_model.bin.index.json"}),
              AllOf(HasSubstr("pytorch_model-00001-of-00002.bin, a pickle"), HasSubstr(saved)));
  EXPECT_THAT(ErrorOf({"tf_model.h5", "tokenizer.json"}),
              AllOf(HasSubstr("tf_model.h5, weights of TensorFlow"), HasSubstr("from_tf=True")));
  EXPECT_THAT(ErrorOf({"flax_model.msgpack"}),
              AllOf(HasSubstr("weights of Flax"), HasSubstr("from_flax=True")));
  EXPECT_THAT(ErrorOf({"model.onnx"}), HasSubstr("model.onnx, an ONNX graph"));
  EXPECT_THAT(ErrorOf({"gpt2-Q4_K_M.gguf"}), HasSubstr("a GGUF file; use the model"));
  EXPECT_THAT(ErrorOf({"model.ckpt.index", "hparams.json"}), HasSubstr("TensorFlow"));
  EXPECT_THAT(Error(File("model.onnx", "\x08\x08")), HasSubstr("model.onnx is an ONNX graph"));
  EXPECT_THAT(Error(File("keras.h5", "\x89HDF\r\n\x1a\n")), HasSubstr("is weights of Keras"));
}

TEST_F(UnreadModelTest, WeightsThatAreReadAreNamedByTheirDirectory) {
  const std::string path = File("model.safetensors", "x");
  EXPECT_THAT(Error(path), HasSubstr("is a file of a model, expected a model's directory or"));
  EXPECT_THAT(Error(path), HasSubstr("name the directory: " + DirectoryOf(path)));
  EXPECT_THAT(Error(DirectoryOf(path)), HasSubstr("without a config.json (Hugging Face)"));
  EXPECT_THAT(ErrorOf({"weights.safetensors"}), HasSubstr("read from model.safetensors"));
  EXPECT_THAT(Error(File("tokenizer.txt", "words")), HasSubstr("is not a model that gp reads"));
}

TEST_F(UnreadModelTest, TheFolderOfATrainingNamesItsNewestCheckpoint) {
  const std::string trainer =
      Directory({"checkpoint-900/config.json", "checkpoint-1000/config.json", "checkpoint-x/y"});
  EXPECT_THAT(Error(trainer), HasSubstr("is the output folder of a Trainer"));
  EXPECT_THAT(Error(trainer), ::testing::EndsWith(trainer + "/checkpoint-1000"));
  EXPECT_THAT(ErrorOf({"optimizer.pt", "scheduler.pt", "rng_state.pth"}),
              HasSubstr("holds training state (optimizer.pt) but no model weights"));
  const std::string cache = Directory({"refs/main", "snapshots/607a/config.json"});
  EXPECT_THAT(Error(cache), ::testing::EndsWith(cache + "/snapshots/607a"));
}

TEST_F(UnreadModelTest, AnAdapterIsRefusedAlsoBesideAConfiguration) {
  for (const auto& names :
       {std::vector<std::string>{"adapter_config.json", "adapter_model.safetensors"},
        std::vector<std::string>{"adapter_config.json", "config.json", "model.safetensors"}}) {
    const Status status = OpenModelAt(Directory(names)).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(status), AllOf(HasSubstr("holds an adapter of peft (adapter_config.json)"),
                                       HasSubstr("').merge_and_unload().save_pretrained('NEW')")));
  }
}

TEST_F(UnreadModelTest, WhatIsNotRecognisedIsNoError) {
  EXPECT_TRUE(RefuseUnread(Directory({})).ok());
  EXPECT_TRUE(RefuseUnread(Directory({"README.md", "data.json"})).ok());
  EXPECT_TRUE(RefuseUnread(File("notes", "words")).ok());
}

TEST_F(UnreadModelTest, ANameIsQuotedForPython) {
  const std::string directory = directory_.File("it's");
  ASSERT_TRUE(MakeDirectories(directory).ok());
  ASSERT_TRUE(WriteFileAtomically(JoinPath(directory, "pytorch_model.bin"), "x").ok());
  EXPECT_THAT(Error(directory), HasSubstr("/it\\'s')"));
}

}  // namespace
}  // namespace gp::interop
