#include "worker/trainer/run_files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>

#include "base/file.h"
#include "confinement/file_rules.h"
#include "lib/base/temporary_directory.h"
#include "lib/confinement/in_child.h"
#include "worker/engine/backend/tuning_cache.h"

namespace gp::engine {
namespace {

bool MayWrite(const std::string& path) {
  try {
    WriteTuningCache(path, "choices");
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

TEST(RunFiles, OnAGpuTheChosenMatrixProductsCanBeKeptAndNothingElseOfTheCache) {
  if (confinement::LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  const TemporaryDirectory files;
  const auto keeps = [&](bool gpu, const std::string& name) {
    return confinement::InChild([&] {
      setenv("XDG_CACHE_HOME", files.File("cache").c_str(), 1);
      const RunFiles run{
          .storage_root = files.path(), .run_directory = files.File("run"), .gpu = gpu};
      if (!run.Confine().ok()) return 2;
      return MayWrite(TuningCachePath(name)) ? 0 : 1;
    });
  };
  EXPECT_EQ(keeps(true, "gemms/card.txt"), 0);
  EXPECT_EQ(keeps(true, "gemms/card.txt"), 0) << "it replaces the file";
  EXPECT_EQ(keeps(true, "kernels.txt"), 1);
  EXPECT_EQ(keeps(false, "gemms/card.txt"), 1);
}

}  // namespace
}  // namespace gp::engine
