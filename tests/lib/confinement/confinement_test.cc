#include "confinement/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <thread>

#include "base/file.h"
#include "confinement/file_rules.h"
#include "confinement/system_calls.h"
#include "lib/base/temporary_directory.h"
#include "lib/confinement/in_child.h"

namespace gp::confinement {
namespace {

TEST(Confine, TakesAwayFilesProgramsAndPrivilegesAtOnce) {
  if (!WhatConfines().missing.empty()) GTEST_SKIP() << "lacks " << WhatConfines().missing;
  const TemporaryDirectory directory;
  const int result = InChild([&] {
    if (!Confine({.readable = {}, .writable = {directory.path()}}).ok()) return 1;
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return 2;
    if (open("/etc/passwd", O_RDONLY) >= 0 || errno != EACCES) return 3;
    if (execl("/bin/true", "true", nullptr) != -1 || errno != EPERM) return 4;
    return WriteFileAtomically(directory.File("record"), "words").ok() ? 0 : 5;
  });
  EXPECT_EQ(result, 0);
}

// Names another thread "worker", as CUDA does; returns errno, or 0.
int NameAnotherThread() {
  std::promise<void> done;
  std::thread other([ended = done.get_future()] { ended.wait(); });
  const int error = pthread_setname_np(other.native_handle(), "worker");
  done.set_value();
  other.join();
  return error;
}

TEST(Confine, LetsCudaNameItsThreads) {
  if (LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  EXPECT_EQ(InChild([] { return Confine({.gpus = true}).ok() ? NameAnotherThread() : 255; }), 0);
  EXPECT_EQ(InChild([] { return Confine({}).ok() ? NameAnotherThread() : 255; }), EACCES)
      << "who uses no GPU need not write there";
}

TEST(WhatConfines, TellsWhatThisKernelHasAndWhatItLacks) {
  const Offer offer = WhatConfines();
  EXPECT_EQ(offer.has.find("Landlock") != std::string::npos, LandlockVersion() > 0);
  EXPECT_EQ(offer.missing.find("Landlock") != std::string::npos, LandlockVersion() == 0);
  EXPECT_EQ(offer.has.find("seccomp") != std::string::npos, HasSystemCallFilters());
}

}  // namespace
}  // namespace gp::confinement
