#include "client/gpctl/cluster/job_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::gpctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

runspec::RunSpec SpecFor(const std::string& device, int workers, int threads = 0) {
  runspec::RunSpec spec;
  spec.resources.device = device;
  spec.resources.workers = workers;
  spec.resources.threads = threads;
  return spec;
}

std::string TextFor(const std::string& name) {
  return JobSetText(SpecFor("cpu", 1), {}, name, "run-id").value();
}

TEST(JobSet, HasAnAgentForEachRankOnCpus) {
  const std::string text = JobSetText(SpecFor("cpu", 3, 5), {}, "tiny", "id").value();
  EXPECT_THAT(text, HasSubstr("completions: 3\n"));
  EXPECT_THAT(text, HasSubstr(R"(limits: {cpu: "5", memory: "10Gi"})"));
  EXPECT_THAT(text, Not(HasSubstr("nvidia.com")));
  EXPECT_THAT(text, Not(HasSubstr("kueue.x-k8s.io/queue-name")));
  EXPECT_THAT(text, Not(HasSubstr("${"))) << "everything is filled in";
}

TEST(JobSet, HasAgentsThatDivideTheGpus) {
  const auto text = [](int workers, int gpus_per_agent) {
    return JobSetText(SpecFor("gpu", workers), {.gpus_per_agent = gpus_per_agent}, "tiny", "id");
  };
  EXPECT_THAT(text(4, 0).value(), HasSubstr("completions: 1\n"));
  EXPECT_THAT(text(4, 0).value(), HasSubstr("nvidia.com/gpu: 4}"));
  EXPECT_THAT(text(16, 0).value(), HasSubstr("completions: 2\n"));
  EXPECT_THAT(text(16, 2).value(), HasSubstr("completions: 8\n"));
  for (const auto& refused : {text(12, 0), text(16, 3), text(4, 8)}) {
    EXPECT_THAT(Message(refused.status()), HasSubstr("is not a multiple of"));
  }
}

TEST(JobSet, HasANameThatKubernetesTakes) {
  EXPECT_THAT(TextFor("Night_Run.7-abc"), HasSubstr("name: \"night-run-7-abc\"\n"));
  EXPECT_THAT(TextFor("7b"), HasSubstr("name: \"run-7b\"\n"));
  EXPECT_THAT(TextFor("..."), HasSubstr("name: \"run\"\n"));
  const std::string id = "-0123456789";
  EXPECT_THAT(TextFor(std::string(100, 'x') + id),
              HasSubstr("name: \"" + std::string(36 - id.size(), 'x') + id + "\"\n"));
  EXPECT_THAT(TextFor(std::string(20, '_') + std::string(36, '1')),
              HasSubstr("name: \"r" + std::string(36, '1') + "\"\n"));
}

TEST(JobSet, TakesNoOptionThatCouldChangeItsForm) {
  const auto refuses = [](const JobSetOptions& options) {
    return JobSetText(SpecFor("cpu", 1), options, "tiny", "id").status().code() ==
           StatusCode::kInvalidArgument;
  };
  EXPECT_FALSE(refuses({.queue = "night-1", .image_prefix = "registry.example:5000/gp/"}));
  for (const std::string text : {"", "-a", "a-", "A", "a b", "a\"", "a\n", "a.b"}) {
    EXPECT_TRUE(refuses({.cluster_namespace = text})) << text;
    EXPECT_EQ(refuses({.queue = text}), !text.empty()) << text;
  }
  for (const std::string text : {"1", "Gi", "1Gi}", "1 Gi", "12345678901Gi"}) {
    EXPECT_TRUE(refuses({.memory = text})) << text;
  }
  EXPECT_TRUE(refuses({.image_prefix = "a\"b"}));
}

}  // namespace
}  // namespace gp::gpctl
