#include "interop/checkpoint_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "formats/checkpoint_directory.h"
#include "lib/base/temporary_directory.h"
#include "lib/interop/small_model.h"
#include "storage/local_storage.h"

namespace gp::interop {
namespace {

using ::testing::HasSubstr;

class CheckpointModelTest : public ::testing::Test {
 protected:
  std::string Import() {
    const std::string target = directory_.File("imported");
    const Status written = WriteCheckpointModel(model_, ByteTokenizer(), "mine", target, {});
    EXPECT_TRUE(written.ok()) << written;
    return target;
  }

  const SmallModel model_;
  TemporaryDirectory directory_;
};

TEST_F(CheckpointModelTest, AnImportIsAWholeCheckpoint) {
  const std::string target = Import();
  const auto verified = formats::VerifyCheckpoint(target);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_EQ(verified->run_name, "mine");
  EXPECT_EQ(verified->step, 0);
  EXPECT_EQ(verified->record.imported_from, "small");
  EXPECT_EQ(verified->shape, SmallShape());
}

TEST_F(CheckpointModelTest, ReadsBackEveryBitAndTheTokenizer) {
  const auto read = OpenCheckpointModel(Import());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ReadAll(*read->model), ReadAll(model_));
  EXPECT_EQ(read->model->tokenizer()->Fingerprint(), ByteTokenizer().Fingerprint());
}

TEST_F(CheckpointModelTest, ADamagedCheckpointIsNotExported) {
  const std::string target = Import();
  for (const char* name : {formats::kModelName, formats::kTokenizerName}) {
    const std::string path = JoinPath(target, name);
    const std::string whole = ReadFile(path).value();
    std::string changed = whole;
    changed[changed.size() / 2] ^= 1;
    ASSERT_TRUE(WriteFileAtomically(path, changed).ok());
    const auto read = OpenCheckpointModel(target);
    EXPECT_EQ(read.status().code(), StatusCode::kDataLoss);
    EXPECT_THAT(Message(read.status()), HasSubstr(path));
    ASSERT_TRUE(WriteFileAtomically(path, whole).ok());
  }
}

TEST_F(CheckpointModelTest, NothingIsWrittenOverWhatIsThere) {
  const std::string target = Import();
  EXPECT_EQ(WriteCheckpointModel(model_, ByteTokenizer(), "other", target, {}).code(),
            StatusCode::kAlreadyExists);
  EXPECT_EQ(formats::ReadManifest(LocalStorage(), target)->run_name, "mine");
}

TEST_F(CheckpointModelTest, AnInterruptedImportLeavesNothing) {
  CopyOptions options;
  int tensors = 0;
  options.keep_going = [&] { return ++tensors < 5 ? OkStatus() : Cancelled("interrupted"); };
  EXPECT_EQ(
      WriteCheckpointModel(model_, ByteTokenizer(), "x", directory_.File("x"), options).code(),
      StatusCode::kCancelled);
  EXPECT_TRUE(ListDirectory(directory_.path())->empty());
}

}  // namespace
}  // namespace gp::interop
