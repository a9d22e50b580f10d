// A run that began with level amx is killed and goes on on a node without tile registers, with the
// weights of an undisturbed run. A node without AVX-512 is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "faults/fault_run.h"
#include "worker/engine/backend/cpu/kernels/isa.h"

namespace gp::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kAmxSteps = 200;

std::string AmxRunFile() { return FaultRun(1, kAmxSteps) + "precision: bf16\n"; }

class AmxCluster {
 public:
  AmxCluster() {
    WriteText(cluster_);
    cluster_.StartCoordinator();
    StartNode("node-a", "amx_twin");
    run_ = cluster_.Submit(AmxRunFile());
  }

  void StartNode(const std::string& name, const std::string& isa_max) {
    cluster_.StartWorker(name, {.slots = 1, .environment = {"GP_ISA_MAX=" + isa_max}});
  }

  Cluster& cluster() { return cluster_; }
  const std::string& run() const { return run_; }

 private:
  Cluster cluster_;
  std::string run_;
};

TEST(AmxRun, GoesOnWithAvx512AfterAKillAndItsWarningSaysSo) {
  if (!engine::IsaSupported(engine::Isa::kAmx)) GTEST_SKIP() << "this processor has no AVX-512";
  AmxCluster undisturbed;
  undisturbed.cluster().WaitForEnd(undisturbed.run());
  const std::string expected = FinalWeights(undisturbed.cluster(), undisturbed.run());

  AmxCluster killed;
  Cluster& cluster = killed.cluster();
  cluster.WaitFor(killed.run(),
                  [](const v1::Run& now) { return now.latest_checkpoint_step() >= 30; });
  EXPECT_EQ(cluster.Get(killed.run()).choices().isa(), "amx");
  cluster.worker("node-a").Kill();
  killed.StartNode("node-b", "avx2");
  cluster.WaitFor(killed.run(), [](const v1::Run& now) {
    return now.reason().find("node node-b is refused") != std::string::npos;
  });
  killed.StartNode("node-c", "avx512");
  const v1::Run end = cluster.WaitForEnd(killed.run());
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.reason();
  EXPECT_TRUE(FinalWeights(cluster, killed.run()) == expected);
  EXPECT_THAT(end.progress().warning(), HasSubstr("level amx compute with AVX-512 here"));
}

}  // namespace
}  // namespace gp::testing
