#include "interop/tensor_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::interop {
namespace {

using ::testing::HasSubstr;

class TensorSetTest : public ::testing::Test {
 protected:
  // Writes a safetensors file in which each tensor has two numbers.
  void WriteShard(const std::string& file, const std::vector<std::string>& tensors) {
    std::vector<formats::TensorEntry> entries;
    for (const std::string& name : tensors) {
      entries.push_back({.name = name, .dtype = "F32", .shape = {2}});
    }
    const std::string header = formats::FormatSafetensorsHeader(entries, {});
    Write(file, header + std::string(tensors.size() * 8, '\0'));
  }
  void WriteIndex(const std::string& weight_map) {
    Write("model.safetensors.index.json", R"({"weight_map": )" + weight_map + "}");
  }
  void Write(const std::string& file, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(directory_.File(file), text).ok());
  }
  Status Open() { return TensorSet::OpenDirectory(directory_.path()).status(); }
  std::string Error() { return Message(Open()); }

  TemporaryDirectory directory_;
};

TEST_F(TensorSetTest, ReadsTheShardsOfAnIndex) {
  WriteShard("a.safetensors", {"x", "y"});
  WriteShard("b.safetensors", {"z"});
  WriteIndex(R"({"x": "a.safetensors", "y": "a.safetensors", "z": "b.safetensors"})");
  const auto set = TensorSet::OpenDirectory(directory_.path());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->Names(), (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(set->FileOf("z"), directory_.File("b.safetensors"));
  std::vector<float> values(2, 1);
  EXPECT_TRUE(set->Read("z", 0, values).ok());
  EXPECT_EQ(values, (std::vector<float>{0, 0}));
}

TEST_F(TensorSetTest, OneFileGoesBeforeAnIndex) {
  WriteShard("model.safetensors", {"one"});
  WriteIndex(R"({"x": "missing"})");
  EXPECT_TRUE(Open().ok());
}

TEST_F(TensorSetTest, AnIndexNamesFilesOfItsOwnDirectoryOnly) {
  WriteShard("a.safetensors", {"x"});
  for (const char* file : {R"("../a.safetensors")", R"("/etc/passwd")", R"("..")", R"(".")",
                           R"("")", R"("sub/a.safetensors")", "7", R"("a\u0000b")"}) {
    WriteIndex(std::string(R"({"x": )") + file + "}");
    EXPECT_THAT(Error(), HasSubstr("expected the name of a file in the same directory")) << file;
  }
}

TEST_F(TensorSetTest, IndexAndShardsMustAgree) {
  WriteShard("a.safetensors", {"x"});
  WriteShard("b.safetensors", {"x"});
  WriteShard("c.safetensors", {"y", "z"});
  WriteIndex(R"({"x": "a.safetensors", "w": "b.safetensors"})");
  EXPECT_THAT(Error(), HasSubstr("tensor 'x' is in both"));
  WriteIndex(R"({"x": "a.safetensors", "w": "c.safetensors"})");
  EXPECT_THAT(Error(), HasSubstr("which does not hold it"));
  WriteIndex(R"({"y": "c.safetensors"})");
  EXPECT_THAT(Error(), HasSubstr("does not list tensor 'z'"));
  WriteIndex(R"({"y": "c.safetensors", "y": "c.safetensors"})");
  EXPECT_THAT(Error(), HasSubstr("the key 'y' occurs twice"));
  WriteIndex(R"({"y": "gone.safetensors"})");
  EXPECT_EQ(Open().code(), StatusCode::kNotFound);
}

TEST_F(TensorSetTest, LoopsPipesAndDirectoriesAreNoFiles) {
  WriteIndex(R"({"x": "a"})");
  ASSERT_EQ(symlink("a", directory_.File("a").c_str()), 0);
  EXPECT_THAT(Error(), HasSubstr(directory_.File("a")));
  ASSERT_EQ(unlink(directory_.File("a").c_str()), 0);
  ASSERT_EQ(mkfifo(directory_.File("a").c_str(), 0600), 0);
  EXPECT_THAT(Error(), HasSubstr("is not a regular file"));
  ASSERT_EQ(unlink(directory_.File("a").c_str()), 0);
  ASSERT_TRUE(MakeDirectories(directory_.File("a")).ok());
  EXPECT_THAT(Error(), HasSubstr("is not a regular file"));
}

TEST_F(TensorSetTest, AHeaderOfTenGigabytesCostsNothing) {
  const std::string length("\x00\xe4\x0b\x54\x02\x00\x00\x00", 8);
  Write("model.safetensors", length + "{}");
  EXPECT_THAT(Error(), HasSubstr("the header claims 10000000000 bytes"));
}

TEST_F(TensorSetTest, AFileOfAnotherKindIsNamed) {
  Write("model.safetensors",
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n");
  EXPECT_THAT(Error(), HasSubstr("model.safetensors is a Git LFS pointer and not the file itself, "
                                 "expected a safetensors file; fetch the file: git lfs pull"));
  Write("model.safetensors", std::string("PK\x03\x04\0\0 archive/data.pkl", 24));
  EXPECT_THAT(Error(), HasSubstr("is a file of torch.save"));
}

TEST_F(TensorSetTest, AnIndexOfAnotherKindIsNamed) {
  Write("model.safetensors.index.json",
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n");
  EXPECT_THAT(Error(), HasSubstr("model.safetensors.index.json is a Git LFS pointer and not the "
                                 "file itself, expected a JSON object; fetch the file: git lfs"));
  Write("model.safetensors.index.json", std::string("{\0}\0", 4));
  EXPECT_THAT(Error(), HasSubstr("is text in UTF-16LE, expected a JSON object; convert it: iconv"));
}

TEST_F(TensorSetTest, APickleIsRefusedInWords) {
  Write("pytorch_model.bin", "PK");
  EXPECT_EQ(Open().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Error(), HasSubstr("a pickle, which can run any program when it is read"));
  EXPECT_THAT(Error(), HasSubstr("save_pretrained"));
}

TEST_F(TensorSetTest, AFileCutShortAfterOpeningIsAnError) {
  WriteShard("model.safetensors", {"x"});
  const auto set = TensorSet::OpenDirectory(directory_.path());
  ASSERT_TRUE(set.ok()) << set.status();
  const std::string path = directory_.File("model.safetensors");
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(FileSize(path).value() - 4)), 0);
  std::vector<float> values(2);
  const Status status = set->Read("x", 0, values);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(Message(status), HasSubstr("the file ends at byte"));
}

}  // namespace
}  // namespace gp::interop
