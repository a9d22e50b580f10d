#include "client/gpctl/terminal/console.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "client/gpctl/session/context_file.h"
#include "client/gpctl/test_console.h"

namespace gp::gpctl {
namespace {

// Restores HOME at the end of the scope.
class ChangedHome {
 public:
  ChangedHome() {
    const char* home = std::getenv("HOME");
    if (home != nullptr) home_ = home;
  }
  ~ChangedHome() {
    if (home_) {
      setenv("HOME", home_->c_str(), 1);
    } else {
      unsetenv("HOME");
    }
  }

 private:
  std::optional<std::string> home_;
};

TEST(Console, AWarningSaysOnceThatItIsOne) {
  const testing::TestConsole test;
  test.console.Warn({"no text", "warning: run.yaml:3: no text\n"});
  EXPECT_EQ(test.err.str(), "warning: no text\nwarning: run.yaml:3: no text\n");
}

std::string StateDirectory() {
  client::Interruption interruption;
  Console console = SystemConsole(interruption);
  console.environment.erase("XDG_STATE_HOME");
  return DefaultStateDirectory(console);
}

TEST(Console, WithoutAHomeTheAccountsHomeIsTaken) {
  const ChangedHome changed;
  const std::string expected = std::string(getpwuid(geteuid())->pw_dir) + "/.local/state/gp";
  unsetenv("HOME");
  EXPECT_EQ(StateDirectory(), expected);
  for (const char* home : {"", ".", "relative", "~"}) {
    setenv("HOME", home, 1);
    EXPECT_EQ(StateDirectory(), expected) << home;
  }
  setenv("HOME", "/elsewhere", 1);
  EXPECT_EQ(StateDirectory(), "/elsewhere/.local/state/gp");
}

}  // namespace
}  // namespace gp::gpctl
