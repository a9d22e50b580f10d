// StorageContract: the contract of every Storage. Instantiate it with a function that creates one.
// `root` is an empty temporary directory; for a storage whose paths are others, the function
// replaces it by an empty directory there.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "lib/base/temporary_directory.h"
#include "storage/storage.h"

namespace gp {

using MakeStorage = std::function<std::shared_ptr<const Storage>(std::string& root)>;

class StorageContract : public ::testing::TestWithParam<MakeStorage> {
 protected:
  std::string File(const std::string& name) const { return JoinPath(root_, name); }

  Status Write(const std::string& path, const std::vector<std::string>& pieces) const {
    ASSIGN_OR_RETURN(const auto writer, storage_->Create(path));
    for (const std::string& piece : pieces) RETURN_IF_ERROR(writer->Append(piece));
    return writer->Close();
  }

  const TemporaryDirectory directory_;
  std::string root_ = directory_.path();
  const std::shared_ptr<const Storage> storage_ = GetParam()(root_);
};

TEST_P(StorageContract, AFileHoldsWhatWasAppended) {
  const std::string large(9 << 20, 'x');
  ASSERT_TRUE(Write(File("a"), {large, std::string("\0b", 2), ""}).ok());
  ASSERT_TRUE(Write(File("empty"), {}).ok());
  EXPECT_TRUE(storage_->Get(File("a"), 10 << 20).value() == large + std::string("\0b", 2));
  EXPECT_EQ(storage_->Get(File("empty"), 0).value(), "");
  EXPECT_EQ(Write(File("a"), {"again"}).code(), StatusCode::kAlreadyExists);
}

TEST_P(StorageContract, AFileThatIsNotClosedIsDiscarded) {
  {
    const auto writer = storage_->Create(File("a"));
    ASSERT_TRUE(writer.ok() && (*writer)->Append("half").ok());
  }
  EXPECT_FALSE(Exists(*storage_, File("a")));
  EXPECT_TRUE(Write(File("a"), {"whole"}).ok());
}

TEST_P(StorageContract, PutReplacesTheWholeFile) {
  ASSERT_TRUE(storage_->Put(File("a"), "a longer old content").ok());
  ASSERT_TRUE(storage_->Put(File("a"), std::string("a\0b", 3)).ok());
  EXPECT_EQ(storage_->Get(File("a"), 3).value(), std::string("a\0b", 3));
  EXPECT_EQ(storage_->List(root_).value(), std::vector<std::string>{"a"});
  EXPECT_EQ(storage_->Put(File("absent/a"), "x").code(), StatusCode::kNotFound);
}

TEST_P(StorageContract, OneOfManyPutsIfAbsentSucceeds) {
  const Status first_put = storage_->PutIfAbsent(File("first"), "");
  if (first_put.code() == StatusCode::kUnimplemented) GTEST_SKIP() << first_put;
  ASSERT_TRUE(first_put.ok()) << first_put;
  std::atomic<int> written = 0;
  std::vector<std::jthread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&, text = std::string(3, static_cast<char>('a' + i))] {
      const Status put = storage_->PutIfAbsent(File("one"), text);
      if (put.ok()) ++written;
      EXPECT_TRUE(put.ok() || put.code() == StatusCode::kAlreadyExists) << put;
    });
  }
  writers.clear();
  EXPECT_EQ(written, 1);
  const std::string first = storage_->Get(File("one"), 3).value();
  EXPECT_EQ(storage_->PutIfAbsent(File("one"), "later").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(storage_->Get(File("one"), 3).value(), first);
  EXPECT_EQ(storage_->List(root_).value(), (std::vector<std::string>{"first", "one"}));
}

TEST_P(StorageContract, ReadsNoMoreThanTheLimit) {
  ASSERT_TRUE(storage_->Put(File("a"), "12345").ok());
  EXPECT_EQ(storage_->Get(File("a"), 5).value(), "12345");
  EXPECT_EQ(storage_->Get(File("a"), 4).status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(storage_->Get(File("absent"), 5).status().code(), StatusCode::kNotFound);
}

TEST_P(StorageContract, StreamsPiecesUntilAnError) {
  const std::string text = std::string(3 << 20, 'x') + "end";
  ASSERT_TRUE(Write(File("a"), {text}).ok());
  std::string read;
  const auto add = [&](std::string_view piece) {
    read += piece;
    return OkStatus();
  };
  ASSERT_TRUE(storage_->Stream(File("a"), add).ok());
  EXPECT_TRUE(read == text);
  int pieces = 0;
  const auto refuse = [&](std::string_view) {
    ++pieces;
    return Cancelled("enough");
  };
  EXPECT_EQ(storage_->Stream(File("a"), refuse).code(), StatusCode::kCancelled);
  EXPECT_EQ(pieces, 1);
  EXPECT_EQ(storage_->Stream(File("absent"), add).code(), StatusCode::kNotFound);
}

TEST_P(StorageContract, KnowsSizesOfFilesAlone) {
  ASSERT_TRUE(storage_->Put(File("a"), "12345").ok());
  EXPECT_EQ(storage_->Size(File("a")).value(), 5u);
  EXPECT_EQ(storage_->Size(File("absent")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(storage_->Size(root_).status().code(), StatusCode::kInvalidArgument);
}

TEST_P(StorageContract, ListsADirectoryInOrder) {
  ASSERT_TRUE(storage_->MakeDirectory(File("sub")).ok());
  for (const char* name : {"b", "a", "sub/c"}) ASSERT_TRUE(storage_->Put(File(name), "").ok());
  EXPECT_EQ(storage_->List(root_).value(), (std::vector<std::string>{"a", "b", "sub"}));
  EXPECT_EQ(storage_->List(File("absent")).status().code(), StatusCode::kNotFound);
}

TEST_P(StorageContract, DeletesEverythingBelowAndMayBeRepeated) {
  ASSERT_TRUE(storage_->MakeDirectory(File("sub")).ok());
  for (const char* name : {"sub/a", "sub/b", "kept"}) {
    ASSERT_TRUE(storage_->Put(File(name), "x").ok());
  }
  EXPECT_TRUE(storage_->Delete(File("sub/a")).ok());
  EXPECT_FALSE(Exists(*storage_, File("sub/a")));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(storage_->Delete(File("sub")).ok());
  EXPECT_TRUE(storage_->Delete(File("sub/a")).ok());
  EXPECT_EQ(storage_->List(root_).value(), std::vector<std::string>{"kept"});
}

TEST_P(StorageContract, MakesADirectoryInAnExistingOne) {
  EXPECT_EQ(storage_->MakeDirectory(File("absent/new")).code(), StatusCode::kNotFound);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(storage_->MakeDirectory(File("new")).ok());
  EXPECT_TRUE(storage_->Put(File("new/a"), "").ok());
  EXPECT_GT(storage_->FreeBytes(File("new")).value(), 0u);
}

}  // namespace gp
