#include "client/gpctl/session/service_context.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/gpctl/session/context_file.h"
#include "lib/base/temporary_directory.h"

namespace gp::gpctl {
namespace {

class ServiceContext : public ::testing::Test {
 protected:
  // Saves the contexts of a service in this directory below the home.
  void Save(const std::string& state) {
    const ServiceDirectory directory(home_.path() + "/" + state);
    ASSERT_TRUE(directory.Create().ok());
    ServiceRecord record;
    record.address = "unix:" + directory.Socket();
    SaveServiceContexts(directory, record, session_);
  }
  ContextFile File() const { return LoadContextFile(ContextFilePath(console_)).value(); }

  TemporaryDirectory home_;
  std::istringstream in_;
  std::ostringstream out_, err_;
  client::Interruption interruption_;
  Console console_{.in = in_,
                   .out = out_,
                   .err = err_,
                   .interruption = interruption_,
                   .clock = SystemClock(),
                   .environment = {{"HOME", home_.path()}}};
  Session session_{GlobalOptions{}, console_};
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
  EXPECT_EQ(err_.str(), "");
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
