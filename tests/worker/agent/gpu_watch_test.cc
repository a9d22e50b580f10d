#include "worker/agent/gpu_watch.h"

#include <poll.h>

#include <functional>

#include "worker/agent/fake_gpus.h"

namespace gp::agent {
namespace {

const std::vector<SlotInfo> kSlots = {{.id = "cpu-0", .cores = {0}},
                                      {.id = "gpu-0", .device = "GPU-aaaa", .cores = {0}},
                                      {.id = "gpu-1", .device = "GPU-bbbb", .cores = {0}}};

TEST(GpuHealth, OnlyWhatIsUnwellIsListed) {
  const auto healths = HealthOf(kSlots, {{.uuid = "GPU-aaaa"}, {.uuid = "GPU-bbbb"}}, "");
  EXPECT_TRUE(healths.empty());
}

TEST(GpuHealth, ALostGpuIsLostAndAMissingProgramIsNot) {
  const auto healths = HealthOf(
      kSlots, {{.uuid = "GPU-aaaa"}, {.uuid = "GPU-bbbb", .lost = true, .problem = "gone"}},
      "no program");
  EXPECT_EQ(healths, (SlotHealths{{"gpu-0", {false, "no program"}}, {"gpu-1", {true, "gone"}}}));
}

TEST(GpuHealth, AMissingProgramIsNamedWithTheWayOut) {
  EXPECT_EQ(WhyNotExecutable("/bin/sh"), "");
  const std::string why = WhyNotExecutable("/nonexistent/gp-trainer-cuda");
  EXPECT_NE(why.find("/nonexistent/gp-trainer-cuda"), std::string::npos);
  EXPECT_NE(why.find("--gpu-trainer"), std::string::npos);
}

// Waits for a SlotsChanged for which `fits` is true; false if none comes within kPatience. Skips
// others, because one sent while the fake's file was being changed may contain half of the change.
bool Await(Inbox& inbox, const std::function<bool(const SlotHealths&)>& fits) {
  while (true) {
    pollfd entry{inbox.descriptor(), POLLIN, 0};
    if (poll(&entry, 1, 60'000) != 1) return false;
    for (const InboxItem& item : inbox.Drain()) {
      const auto* changed = std::get_if<SlotsChanged>(&item);
      if (changed != nullptr && fits(changed->healths)) return true;
    }
  }
}

TEST(GpuWatch, TellsWhenAGpuIsLostAndWhenItIsBack) {
  FakeGpus fake(kTwoGpus);
  const auto inventory = GpuInventory::Open(FakeGpus::Library(), {"all", nullptr});
  ASSERT_TRUE(inventory.ok()) << inventory.status();
  Inbox inbox;
  AgentMetrics metrics("test");
  const GpuWatch watch(*inventory, MakeGpuSlots(inventory->gpus(), {0}), "/bin/sh",
                       std::chrono::milliseconds(1), inbox, metrics);
  fake.Say("driver version=1 cuda=13000\ngpu uuid=GPU-aaaa name=H100 memory=1024\n");
  EXPECT_TRUE(Await(inbox, [](const SlotHealths& healths) {
    return healths.size() == 1 && healths.contains("gpu-1") && healths.at("gpu-1").lost;
  }));
  EXPECT_NE(metrics.Text().find("gp_gpu_usable{gpu=\"1\"} 0"), std::string::npos);
  fake.Say(kTwoGpus);
  EXPECT_TRUE(Await(inbox, [](const SlotHealths& healths) { return healths.empty(); }));
}

TEST(GpuMetrics, ShowWhatAGpuOffers) {
  AgentMetrics metrics("test");
  const std::vector<SlotInfo> slots = {{.id = "gpu-0",
                                        .device = "GPU-aaaa",
                                        .cores = {0},
                                        .memory_bytes = 4096,
                                        .device_name = "NVIDIA H100",
                                        .compute_capability = "9.0"}};
  metrics.SetGpus(slots,
                  {{.uuid = "GPU-aaaa",
                    .memory_used_bytes = 1024,
                    .utilization_ratio = 0.5,
                    .energy_joules = 10}},
                  {});
  const std::string text = metrics.Text();
  for (const char* line :
       {"gp_gpu_usable{gpu=\"0\"} 1\n", "gp_gpu_memory_used_bytes{gpu=\"0\"} 1024\n",
        "gp_gpu_memory_capacity_bytes{gpu=\"0\"} 4096\n",
        "gp_gpu_utilization_ratio{gpu=\"0\"} 0.5\n", "gp_gpu_energy_joules_total{gpu=\"0\"} 10\n",
        "uuid=\"GPU-aaaa\""}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "not in\n" << text;
  }
  EXPECT_EQ(text.find("gp_gpu_temperature_celsius{"), std::string::npos);
}

TEST(GpuMetrics, AValueThatIsNotToldAnyMoreHasNoSeries) {
  AgentMetrics metrics("test");
  const std::vector<SlotInfo> slots = {{.id = "gpu-0", .device = "GPU-aaaa", .cores = {0}}};
  metrics.SetGpus(slots, {{.uuid = "GPU-aaaa", .power_watts = 100}}, {});
  EXPECT_NE(metrics.Text().find("gp_gpu_power_watts{gpu=\"0\"} 100"), std::string::npos);
  metrics.SetGpus(slots, {{.uuid = "GPU-aaaa", .lost = true, .problem = "gone"}},
                  {{"gpu-0", {true, "gone"}}});
  EXPECT_EQ(metrics.Text().find("gp_gpu_power_watts{"), std::string::npos);
}

TEST(GpuMetrics, TheListHasEveryName) {
  const std::string list = AgentMetrics::List("test");
  for (const char* name : {"gp_gpu_info", "gp_gpu_power_watts", "gp_gpu_ecc_uncorrected_errors"}) {
    EXPECT_NE(list.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace gp::agent
