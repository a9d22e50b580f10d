// Goal: an object store keeps the contract of Storage.
#include "storage/object/object_storage.h"

#include <gtest/gtest.h>

#include <limits>

#include "lib/storage/object/faulty_proxy.h"
#include "lib/storage/object/tested_store.h"
#include "lib/storage/storage_contract.h"

namespace gp {
namespace {

using object::NewRoot;
using object::StorageAt;
using object::StoreHost;

INSTANTIATE_TEST_SUITE_P(ObjectStorage, StorageContract, ::testing::Values([](std::string& root) {
                           root = NewRoot();
                           return StorageAt(StoreHost(), root);
                         }));

class ObjectStorageTest : public ::testing::Test {
 protected:
  std::string File(const std::string& name) const { return root_ + "/" + name; }

  const std::string root_ = NewRoot();
  const std::unique_ptr<ObjectStorage> storage_ = StorageAt(StoreHost(), root_);
};

TEST_F(ObjectStorageTest, NamesMayHaveAnyCharacter) {
  const std::vector<std::string> names = {"%2F", "a b+c", "a&b=c?d", "caf\xc3\xa9", "x'\"<>y"};
  for (const std::string& name : names) {
    ASSERT_TRUE(storage_->Put(File(name), name).ok()) << name;
  }
  EXPECT_EQ(storage_->List(root_).value(), names);
  for (const std::string& name : names) {
    EXPECT_EQ(storage_->Get(File(name), 100).value(), name);
    EXPECT_EQ(storage_->Size(File(name)).value(), name.size());
    EXPECT_TRUE(storage_->Delete(File(name)).ok());
  }
  EXPECT_EQ(storage_->List(root_).value(), std::vector<std::string>{});
}

TEST_F(ObjectStorageTest, ADirectoryExistsWhileSomethingIsBelow) {
  object::S3Client other(object::OptionsAt(StoreHost()), object::StoreCredentials(), SystemClock());
  const std::string key = File("made/by/others").substr(std::string("s3://bucket/").size());
  ASSERT_TRUE(other.Put(key, "x").ok());
  EXPECT_EQ(storage_->List(File("made")).value(), std::vector<std::string>{"by"});
  EXPECT_EQ(storage_->Size(File("made")).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(storage_->Put(File("made/by/us"), "x").ok());
  EXPECT_TRUE(storage_->Delete(File("made")).ok());
  EXPECT_EQ(storage_->List(File("made")).status().code(), StatusCode::kNotFound);
}

TEST_F(ObjectStorageTest, DeleteKeepsNamesThatOnlyBeginAlike) {
  for (const char* name : {"a", "ab", "a.b"}) ASSERT_TRUE(storage_->Put(File(name), "x").ok());
  EXPECT_TRUE(storage_->Delete(File("a")).ok());
  EXPECT_EQ(storage_->List(root_).value(), (std::vector<std::string>{"a.b", "ab"}));
}

TEST_F(ObjectStorageTest, PathsOutsideTheRootAreRefused) {
  for (const std::string& path :
       {std::string("/data/a"), std::string("s3://bucket/elsewhere"), root_ + "x", File("a/../b"),
        File("a//b"), File("a/"), File("")}) {
    EXPECT_EQ(storage_->Put(path, "x").code(), StatusCode::kInvalidArgument) << path;
    EXPECT_EQ(storage_->Delete(path).code(), StatusCode::kInvalidArgument) << path;
  }
}

TEST_F(ObjectStorageTest, AReadThatIsTornByAnOverwriteIsAnError) {
  const std::string old = object::SomeBytes(40 << 20, 1);
  ASSERT_TRUE(storage_->Put(File("a"), old).ok());
  size_t read = 0;
  const Status streamed = storage_->Stream(File("a"), [&](std::string_view piece) {
    EXPECT_TRUE(piece == std::string_view(old).substr(read, piece.size())) << read;
    if (read == 0) EXPECT_TRUE(storage_->Put(File("a"), object::SomeBytes(40 << 20, 2)).ok());
    read += piece.size();
    return OkStatus();
  });
  EXPECT_EQ(streamed.code(), StatusCode::kAborted) << streamed;
  EXPECT_LT(read, old.size());
}

TEST_F(ObjectStorageTest, AMissingBucketIsNoMissingFile) {
  const auto nowhere = StorageAt(StoreHost(), "s3://no-such-bucket/a");
  for (const Status& status :
       {nowhere->Get("s3://no-such-bucket/a/b", 1).status(),
        nowhere->Size("s3://no-such-bucket/a/b").status(),
        nowhere->List("s3://no-such-bucket/a").status(),
        nowhere->Put("s3://no-such-bucket/a/b", "x"),
        nowhere->Stream("s3://no-such-bucket/a/b", [](std::string_view) { return OkStatus(); })}) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
    EXPECT_NE(Message(status).find("create the bucket no-such-bucket"), std::string::npos)
        << status;
  }
}

TEST_F(ObjectStorageTest, ListsHaveMoreThanOnePage) {
  object::S3Client client(object::OptionsAt(StoreHost()), object::StoreCredentials(),
                          SystemClock());
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    names.push_back(fmt::format("f{}", i));
    ASSERT_TRUE(storage_->Put(File(names.back()), "x").ok());
  }
  object::ListRequest request{.prefix = root_.substr(std::string("s3://bucket/").size()) + "/",
                              .count_max = 2};
  std::vector<std::string> listed;
  int pages = 0;
  do {
    const auto page = client.List(request);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const std::string& key : page->keys) listed.push_back(key.substr(request.prefix.size()));
    request.continuation = page->continuation;
    ++pages;
  } while (!request.continuation.empty());
  EXPECT_EQ(listed, names);
  EXPECT_EQ(pages, 3);
}

TEST_F(ObjectStorageTest, OptionsThatCannotBeAreRefused) {
  const auto make = [](const ObjectStorageOptions& options) {
    return ObjectStorage::Make(options, object::StoreCredentials(), SystemClock()).status().code();
  };
  EXPECT_EQ(make({.root = "/data"}), StatusCode::kInvalidArgument);
  EXPECT_EQ(make({.root = "s3://bucket", .endpoint = "host"}), StatusCode::kInvalidArgument);
  EXPECT_EQ(make({.root = "s3://bucket", .parts = {.part_bytes = 1000}}),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(make({.root = "s3://bucket"}), StatusCode::kOk);
}

}  // namespace
}  // namespace gp
