#include "coordinator/state/initial_model.h"

#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

Submission With(const std::string& resolved) {
  Submission submission;
  submission.resolved = resolved;
  return submission;
}

TEST(InitialModel, IsTheValueOfTheTopLevelKey) {
  EXPECT_EQ(InitialModelOf(With("name: a\ninit_from: /m/gpt2\nseed: 1\n")), "/m/gpt2");
  EXPECT_EQ(InitialModelOf(With("init_from: \"/m/my \\\"gpt2\\\"\"")), "/m/my \"gpt2\"");
  for (const char* scratch : {"", "init_from: scratch\n", "data:\n  init_from: /x\n"}) {
    EXPECT_EQ(InitialModelOf(With(scratch)), "") << scratch;
  }
}

TEST(InitialModel, AnotherPathIsReadBackAsItWasSet) {
  for (const std::string before : {"/m/gpt2", "\"/m/gpt2\""}) {
    for (const std::string path : {"/a/runs/b", "runs/b", "/with blank", "/with: colon", "/#hash",
                                   "/quote\"", "/back\\slash"}) {
      Submission submission = With("name: a\ninit_from: " + before + "\nseed: 1\n");
      SetInitialModel(submission, path);
      EXPECT_EQ(InitialModelOf(submission), path);
      EXPECT_TRUE(submission.resolved.starts_with("name: a\ninit_from: ")) << submission.resolved;
      EXPECT_TRUE(submission.resolved.ends_with("\nseed: 1\n")) << submission.resolved;
    }
  }
}

}  // namespace
}  // namespace gp::coordinator
