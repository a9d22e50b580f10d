#include "client/gpctl/service/versioned_file.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "lib/base/temporary_directory.h"

namespace gp::gpctl {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kBytesMax = 4096;

// Version 2 renames the key `old` to `new`.
FileFormat Renamed() {
  return {.migrations = {[](const std::string& text) -> StatusOr<std::string> {
            const size_t at = text.find("old:");
            if (at == std::string::npos) return DataLoss("no 'old'");
            return "apiVersion: gp/v2\nnew:" + text.substr(at + 4);
          }}};
}

class VersionedFile : public ::testing::Test {
 protected:
  StatusOr<std::string> Read(const FileFormat& format) const {
    return ReadVersionedFile(path_, kBytesMax, format);
  }
  void Write(const std::string& text) const { ASSERT_TRUE(WriteFileAtomically(path_, text).ok()); }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.File("things.yaml");
};

TEST_F(VersionedFile, OneOfTheNewestVersionIsReadAsItIs) {
  for (const char* text :
       {"apiVersion: gp/v1\na: 1\n", "{\"apiVersion\": \"gp/v1\"}", "a: 1\n", ""}) {
    Write(text);
    EXPECT_EQ(*Read({}), text);
  }
  EXPECT_EQ(ListDirectory(directory_.path())->size(), 1u) << "no copy is made";
}

TEST_F(VersionedFile, OneOfAnOlderVersionIsKeptBesideTheMigratedOne) {
  for (const std::string first : {"apiVersion: gp/v1\nold: 5\n", "old: 5\n"}) {
    Write(first);
    ASSERT_TRUE(RemoveTree(path_ + ".v1").ok());
    EXPECT_EQ(*Read(Renamed()), "apiVersion: gp/v2\nnew: 5\n");
    EXPECT_EQ(*ReadFile(path_), "apiVersion: gp/v2\nnew: 5\n");
    EXPECT_EQ(*ReadFile(path_ + ".v1"), first);
    EXPECT_EQ(*Read(Renamed()), "apiVersion: gp/v2\nnew: 5\n");
  }
}

TEST_F(VersionedFile, OneThatCannotBeMigratedStays) {
  Write("other: 5\n");
  EXPECT_EQ(Read(Renamed()).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(*ReadFile(path_), "other: 5\n");
}

TEST_F(VersionedFile, OneThatIsDamagedIsNotMigrated) {
  for (const std::string damaged : {"old: [5\n", "old:5", ""}) {
    Write(damaged);
    EXPECT_EQ(*Read(Renamed()), damaged) << "its parser reports the damage";
    EXPECT_EQ(*ReadFile(path_), damaged);
  }
  EXPECT_EQ(ListDirectory(directory_.path())->size(), 1u) << "no copy is made";
}

TEST_F(VersionedFile, OneOfANewerVersionIsRefused) {
  Write("apiVersion: gp/v3\nnewest: 5\n");
  const Status refused = Read(Renamed()).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(refused),
              HasSubstr(path_ + " has apiVersion gp/v3, written by a newer gpctl; "
                                "this gpctl reads versions up to gp/v2; upgrade gpctl"));
}

TEST_F(VersionedFile, AVersionThatIsNoneIsAnError) {
  for (const char* version : {"gp/v0", "gp/v", "gp/v1x", "v1", "other/v1", "gp/v-1", "[gp/v1]"}) {
    Write(std::string("apiVersion: ") + version + "\n");
    EXPECT_EQ(Read({}).status().code(), StatusCode::kInvalidArgument) << version;
  }
}

TEST_F(VersionedFile, AMissingFileIsNotFound) {
  EXPECT_EQ(Read({}).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace gp::gpctl
