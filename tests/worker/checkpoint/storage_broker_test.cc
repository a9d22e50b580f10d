#include "worker/checkpoint/storage_broker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <thread>

#include "base/file.h"
#include "confinement/confinement.h"
#include "confinement/file_rules.h"
#include "lib/base/temporary_directory.h"
#include "lib/confinement/in_child.h"
#include "lib/storage/storage_contract.h"

namespace gp::engine {
namespace {

using ::testing::HasSubstr;

Status WriteWhole(const Storage& storage, const std::string& path, std::string_view text) {
  ASSIGN_OR_RETURN(const auto writer, storage.Create(path));
  RETURN_IF_ERROR(writer->Append(text));
  return writer->Close();
}

class StorageBrokerTest : public ::testing::Test {
 protected:
  std::string File(const std::string& name) const { return directory_.File(name); }

  TemporaryDirectory directory_;
};

INSTANTIATE_TEST_SUITE_P(StorageBroker, StorageContract, ::testing::Values([](const std::string&) {
                           return StartStorageBroker(OkStatus).value();
                         }));

TEST_F(StorageBrokerTest, DoesNothingWhenItsChildIsNotConfined) {
  const auto storage =
      StartStorageBroker([] { return PermissionDenied("the rules are refused"); }).value();
  const Status made = storage->MakeDirectory(File("new"));
  EXPECT_EQ(made.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(made), HasSubstr("the rules are refused"));
  EXPECT_FALSE(FileExists(File("new")));
}

TEST_F(StorageBrokerTest, OutlivesAChildThatEnds) {
  const auto storage = StartStorageBroker([this] {
                         if (FileExists(File("fatal"))) _exit(3);
                         return OkStatus();
                       }).value();
  ASSERT_TRUE(MakeDirectory(File("fatal")).ok());
  EXPECT_EQ(storage->MakeDirectory(File("new")).code(), StatusCode::kUnavailable);
  ASSERT_TRUE(RemoveTree(File("fatal")).ok());
  EXPECT_TRUE(storage->MakeDirectory(File("new")).ok());
}

TEST_F(StorageBrokerTest, RefusesWhatNoMessageHolds) {
  const auto storage = StartStorageBroker(OkStatus).value();
  const Status written = storage->Put(File("large"), std::string(1 << 20, 'x'));
  EXPECT_EQ(written.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(written), HasSubstr(File("large")));
  EXPECT_TRUE(storage->Put(File("small"), "x").ok());
}

TEST_F(StorageBrokerTest, ServesSeveralThreads) {
  const auto storage = StartStorageBroker(OkStatus).value();
  const auto write = [&](const std::string& name) {
    for (int i = 0; i < 20; ++i) {
      const std::string path = File(name + std::to_string(i));
      EXPECT_TRUE(WriteWhole(*storage, path, path).ok());
    }
  };
  {
    const std::jthread other([&] { write("other"); });
    write("one");
  }
  for (const std::string& path : {File("other19"), File("one19")}) {
    EXPECT_EQ(ReadFile(path).value(), path);
  }
}

// Runs in a confined process after its directory was replaced: 0 if the broker gives access to the
// new directory and to nothing else.
int UseNewDirectory(const std::string& run, const std::string& outside) {
  const auto confine = [&run] {
    RETURN_IF_ERROR(MakeDirectory(run));
    return confinement::Confine({.readable = {}, .writable = {run}});
  };
  const auto storage = StartStorageBroker(confine);
  std::promise<void> confined;
  // A thread started before the confinement is not confined, so it can still change other
  // directories.
  std::thread other([&run, begun = confined.get_future()] {
    begun.wait();
    std::filesystem::remove_all(run);
  });
  const Status status = confine();
  confined.set_value();
  other.join();
  if (!status.ok() || !storage.ok()) return 1;
  if (WriteFileAtomically(JoinPath(run, "own"), "words").ok()) return 2;
  if (!WriteWhole(**storage, JoinPath(run, "brokered"), "words").ok()) return 3;
  if ((*storage)->Create(outside).status().code() != StatusCode::kPermissionDenied) return 4;
  if ((*storage)->Get("/etc/passwd", 1 << 20).ok()) return 5;
  return (*storage)->Get(JoinPath(run, "brokered"), 5).value_or("") == "words" ? 0 : 6;
}

TEST_F(StorageBrokerTest, ReachesTheDirectoryThatTookThePlaceOfTheDeletedOneAndNothingElse) {
  if (confinement::LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  const std::string run = File("run");
  const std::string outside = File("outside");
  ASSERT_TRUE(MakeDirectory(run).ok());
  EXPECT_EQ(confinement::InChild([&] { return UseNewDirectory(run, outside); }), 0);
  EXPECT_EQ(ReadFile(JoinPath(run, "brokered")).value_or(""), "words");
  EXPECT_FALSE(FileExists(outside));
}

}  // namespace
}  // namespace gp::engine
