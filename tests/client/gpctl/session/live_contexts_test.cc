// What is printed about other services when the chosen one does not answer or does not have the
// run.
#include "client/gpctl/session/live_contexts.h"

#include <gmock/gmock.h>

#include "client/gpctl/service/service_fixture.h"
#include "client/gpctl/session/context_file.h"

namespace gp::gpctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class LiveContextsTest : public ServiceFixture {
 protected:
  // The contexts "first", whose service runs; "stopped"; and "gone", whose directory no longer
  // exists.
  void SetUp() override {
    Add("first", true);
    Add("stopped", false);
    contexts_.contexts["gone"] = {.server = "unix:/gone", .state_dir = gpctl_.home() + "/gone"};
  }

  void Add(const std::string& name, bool runs) {
    const ServiceDirectory directory(gpctl_.home() + "/" + name);
    ASSERT_TRUE(directory.Create().ok());
    ServiceRecord record{.address = runs ? service_.address() : "unix:" + directory.Socket()};
    if (runs) record.supervisor = *IdentifyProcess(getpid());
    ASSERT_TRUE(directory.Save(record).ok());
    const Context context{.server = record.address, .state_dir = directory.root()};
    ASSERT_TRUE(SaveStateContext(directory.root(), context).ok());
    contexts_.contexts[name] = context;
  }

  void Choose(const std::string& name) {
    contexts_.current = name;
    ASSERT_TRUE(SaveContextFile(ContextFile(), contexts_).ok());
  }
  std::string ContextFile() const { return gpctl_.home() + "/.config/gpctl/config.yaml"; }

  gpctl::ContextFile contexts_;
};

TEST_F(LiveContextsTest, WithoutAChosenOneThoseThatRunAreNamed) {
  Choose("");
  EXPECT_THAT(gpctl_.Run({"list"}).err,
              AllOf(HasSubstr("no coordinator is chosen; another service is there: "
                              "'./gpctl context use first'; start one"),
                    Not(HasSubstr("use stopped")), Not(HasSubstr("use gone"))));
  EXPECT_EQ(gpctl_.Run({"context", "use", "first"}).code, 0);
  EXPECT_EQ(gpctl_.Run({"list"}).code, 0);
}

TEST_F(LiveContextsTest, TheListSaysWhichServicesRun) {
  contexts_.contexts["elsewhere"] = {.server = "coordinator.example:7700"};
  Choose("stopped");
  const std::string list = gpctl_.Run({"context", "list"}).out;
  EXPECT_THAT(list, AllOf(HasSubstr("elsewhere  remote"), HasSubstr("first      running"),
                          HasSubstr("gone       stopped"), HasSubstr("*  stopped    stopped")));
}

TEST_F(LiveContextsTest, AStoppedOneNamesThoseThatRun) {
  Choose("stopped");
  EXPECT_THAT(gpctl_.Run({"list"}).err,
              AllOf(HasSubstr("/stopped is stopped; "),
                    HasSubstr("starts it; another service is there: './gpctl context use first'")));
}

TEST_F(LiveContextsTest, ARunThatIsNotThereMayBeElsewhere) {
  Choose("first");
  EXPECT_THAT(gpctl_.Run({"status", "x"}).err, Not(HasSubstr("another service")));
  contexts_.contexts["far"] = {.server = "node-1:7070"};
  Choose("first");
  EXPECT_THAT(gpctl_.Run({"status", "x"}).err,
              HasSubstr("another service is there: './gpctl context use far'"));
  EXPECT_THAT(gpctl_.Run({"status", "x", "--state-dir", gpctl_.home() + "/first"}).err,
              Not(HasSubstr("another service")));
}

TEST_F(LiveContextsTest, DownWithPurgeNamesThem) {
  Choose("stopped");
  const testing::Outcome outcome = gpctl_.Run({"down", "--purge", "--yes"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("The directory was deleted; another service is there: "
                                     "'./gpctl context use first'."));
}

TEST_F(LiveContextsTest, TwoServicesWithDirectoriesOfOneNameHaveTwoContexts) {
  WriteDaemon("gp-coordinator");
  WriteDaemon("gp-worker");
  contexts_.contexts["state"] = {.server = "unix:/other/state/coordinator.sock",
                                 .state_dir = "/other/state"};
  Choose("state");
  gpctl_.interrupt_when_out_contains = "gpctl down";
  ASSERT_EQ(gpctl_.Run({"up", "--no-gateway", "--state-dir", directory_.root()}).code, 0);
  const auto file = LoadContextFile(ContextFile());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->current, "state-2");
  EXPECT_EQ(file->contexts.at("state").state_dir, "/other/state");
  EXPECT_EQ(file->contexts.at("state-2").state_dir, directory_.root());
}

}  // namespace
}  // namespace gp::gpctl
