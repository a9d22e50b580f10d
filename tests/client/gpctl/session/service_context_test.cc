#include "client/gpctl/session/service_context.h"

#include <gtest/gtest.h>

#include "client/gpctl/session/context_file.h"
#include "client/gpctl/test_console.h"
#include "lib/base/temporary_directory.h"

namespace gp::gpctl {
namespace {

class ServiceContext : public ::testing::Test {
 protected:
  ServiceContext() { test_.console.environment = {{"HOME", home_.path()}}; }

  // Saves the contexts of a service in this directory below the home.
  void Save(const std::string& state) {
    const ServiceDirectory directory(home_.path() + "/" + state);
    ASSERT_TRUE(directory.Create().ok());
    ServiceRecord record;
    record.address = "unix:" + directory.Socket();
    SaveServiceContexts(directory, record, session_);
  }
  ContextFile File() const { return LoadContextFile(ContextFilePath(test_.console)).value(); }

  TemporaryDirectory home_;
  testing::TestConsole test_;
  Session session_{GlobalOptions{}, test_.console};
};

TEST_F(ServiceContext, TheNewestServiceIsCurrentUnderANameOfItsOwn) {
  Save(".local/state/gp");
  EXPECT_EQ(CurrentContext(session_), "local");
  Save("one/service");
  EXPECT_EQ(CurrentContext(session_), "service");
  Save("two/service");
  EXPECT_EQ(CurrentContext(session_), "service-2");
  Save("one/service");
  EXPECT_EQ(CurrentContext(session_), "service") << "a service keeps its name";
  EXPECT_EQ(File().contexts.size(), 3u);
  EXPECT_EQ(test_.err.str(), "");
}

TEST_F(ServiceContext, AForgottenServiceIsNotCurrentAnyMore) {
  Save("one");
  Save("two");
  ForgetContext(ServiceDirectory(home_.path() + "/two"), session_);
  EXPECT_EQ(CurrentContext(session_), "");
  EXPECT_EQ(File().contexts.size(), 1u);
  MakeCurrent("two", session_);
  EXPECT_EQ(CurrentContext(session_), "") << "there is none of this name";
  MakeCurrent("one", session_);
  EXPECT_EQ(CurrentContext(session_), "one");
}

}  // namespace
}  // namespace gp::gpctl
