// Goal: whatever the store and the network do, what a write has acknowledged is readable whole, a
// failed write leaves the old or the new content, and no read returns anything else.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

#include "lib/storage/object/faulty_proxy.h"
#include "lib/storage/object/tested_store.h"

namespace gp::object {
namespace {

constexpr int kOperations = 40;

// Operations chosen by a seed, through a proxy with faults chosen by the same seed, and a model of
// what the store must have.
class Trial {
 public:
  explicit Trial(uint32_t seed)
      : random_(seed),
        fault_random_(seed + 1),
        proxy_(StoreHost(), [this](const SeenRequest&) { return ChooseFault(); }) {}

  void Run() {
    for (int i = 0; i < kOperations && !::testing::Test::HasFailure(); ++i) {
      const std::string name = fmt::format("f{}", Below(4));
      switch (Below(6)) {
        case 0:
          Put(name);
          break;
        case 1:
          PutIfAbsent(name);
          break;
        case 2:
          Write(fmt::format("w{}", i));
          break;
        case 3:
          Delete(name);
          break;
        default:
          Get(name);
      }
    }
    for (const auto& [name, content] : model_) EXPECT_TRUE(Stored(name) == content) << name;
  }

  int successes = 0, failures = 0;

 private:
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  Fault ChooseFault() {
    if (fault_random_() % 4 != 0) return Fault::kNone;
    const auto first = static_cast<uint32_t>(kFirstFault), last = static_cast<uint32_t>(kLastFault);
    const auto fault = static_cast<Fault>(first + fault_random_() % (last - first + 1));
    // Each waits for a second.
    return fault == Fault::kStall && stalls_++ >= 2 ? Fault::kAnswerCut : fault;
  }

  // Some operations may try long enough for any fault to pass, others may not.
  std::unique_ptr<ObjectStorage> Client() {
    return StorageAt(proxy_.host(), root_, std::chrono::milliseconds(Below(2) == 0 ? 3 : 60'000));
  }

  std::string Path(const std::string& name) const { return root_ + "/" + name; }

  // What the store has, asked without faults; nothing if there is no such object.
  std::optional<std::string> Stored(const std::string& name) const {
    auto content = direct_->Get(Path(name), 100 << 20);
    if (content.ok()) return *content;
    EXPECT_EQ(content.status().code(), StatusCode::kNotFound) << content.status();
    return std::nullopt;
  }

  std::optional<std::string> Known(const std::string& name) const {
    const auto found = model_.find(name);
    if (found == model_.end()) return std::nullopt;
    return found->second;
  }

  // `is_done`: the operation was acknowledged, so the store has `after`. Otherwise it has `after`
  // or what it had before.
  void Check(const std::string& name, const Status& status,
             const std::optional<std::string>& after) {
    (status.ok() ? successes : failures) += 1;
    const auto stored = Stored(name);
    const bool is_unchanged = !status.ok() && stored == Known(name);
    EXPECT_TRUE(stored == after || is_unchanged)
        << name << " has " << (stored ? stored->size() : 0) << " bytes after " << status;
    if (stored) {
      model_[name] = *stored;
    } else {
      model_.erase(name);
    }
  }

  void Put(const std::string& name) {
    const std::string content = SomeBytes(Below(3000), Below(1 << 30));
    Check(name, Client()->Put(Path(name), content), content);
  }

  void PutIfAbsent(const std::string& name) {
    const std::string content = SomeBytes(Below(3000), Below(1 << 30));
    const bool is_there = Known(name).has_value();
    const Status put = Client()->PutIfAbsent(Path(name), content);
    EXPECT_FALSE(put.ok() && is_there) << name;
    EXPECT_FALSE(put.code() == StatusCode::kAlreadyExists && !is_there) << name;
    Check(name, put, is_there ? Known(name) : content);
  }

  void Write(const std::string& name) {
    const std::string content = SomeBytes(Below(2) == 0 ? 1000 : 11'000'000, Below(1 << 30));
    const auto client = Client();
    const auto write = [&]() -> Status {
      ASSIGN_OR_RETURN(const auto writer, client->Create(Path(name)));
      RETURN_IF_ERROR(writer->Append(content));
      return writer->Close();
    };
    Check(name, write(), content);
  }

  void Delete(const std::string& name) { Check(name, Client()->Delete(Path(name)), std::nullopt); }

  void Get(const std::string& name) {
    const auto got = Client()->Get(Path(name), 100 << 20);
    (got.ok() ? successes : failures) += 1;
    if (got.ok()) EXPECT_TRUE(Known(name) == *got) << name;
    if (got.status().code() == StatusCode::kNotFound) EXPECT_FALSE(Known(name)) << name;
  }

  const std::string root_ = NewRoot();
  const std::unique_ptr<ObjectStorage> direct_ = StorageAt(StoreHost(), root_);
  std::mt19937 random_, fault_random_;
  int stalls_ = 0;
  std::map<std::string, std::string> model_;
  FaultyProxy proxy_;
};

TEST(Faults, ChangeNothingThatWasAcknowledged) {
  int successes = 0, failures = 0;
  for (uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Trial trial(seed);
    trial.Run();
    successes += trial.successes;
    failures += trial.failures;
  }
  RecordProperty("successes", successes);
  // Otherwise nothing has been tried.
  EXPECT_GT(successes, 60);
  EXPECT_GT(failures, 20);
}

// A list that is older than the writes never makes them fail or disappear.
TEST(Faults, AStaleListHidesNothingThatIsRead) {
  const std::string root = NewRoot();
  const FaultyProxy proxy(StoreHost(), [](const SeenRequest&) { return Fault::kStaleList; });
  const auto storage = StorageAt(proxy.host(), root);
  ASSERT_TRUE(storage->MakeDirectory(root + "/sub").ok());
  EXPECT_TRUE(storage->List(root + "/sub")->empty());
  ASSERT_TRUE(storage->Put(root + "/sub/a", "x").ok());
  EXPECT_EQ(storage->Get(root + "/sub/a", 1).value(), "x");
  EXPECT_EQ(storage->Size(root + "/sub/a").value(), 1u);
  EXPECT_TRUE(storage->Delete(root + "/sub/a").ok());
  EXPECT_EQ(storage->Get(root + "/sub/a", 1).status().code(), StatusCode::kNotFound);
}

// A store that is away delays a write and loses nothing.
TEST(Faults, AWriteWaitsForAStoreThatIsAway) {
  const std::string root = NewRoot();
  int refused = 0;
  const FaultyProxy proxy(StoreHost(), [&refused](const SeenRequest&) {
    return ++refused <= 30 ? Fault::kResetBefore : Fault::kNone;
  });
  const std::string content = SomeBytes(11'000'000, 1);
  const auto storage = StorageAt(proxy.host(), root);
  const auto writer = storage->Create(root + "/a");
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Append(content).ok());
  ASSERT_TRUE((*writer)->Close().ok());
  EXPECT_TRUE(StorageAt(StoreHost(), root)->Get(root + "/a", 20'000'000).value() == content);
}

}  // namespace
}  // namespace gp::object
