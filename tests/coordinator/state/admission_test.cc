// Goal: a request id answers one body, compared as a whole.
#include "coordinator/state/admission.h"

#include <gtest/gtest.h>

#include "coordinator/store/sample_events.h"

namespace gp::coordinator {
namespace {

Event SubmitWithDigest(const std::string& run, const std::string& digest) {
  Event event = SampleSubmit(run, "request-1");
  std::get<RunSubmitted>(event.body).submission.body_digest = digest;
  return event;
}

TEST(Admission, BodiesAreEqualWhenEveryCharacterOfTheirDigestsIs) {
  const std::string digest(64, 'a');
  Cluster cluster;
  ASSERT_TRUE(Apply(SubmitWithDigest("r", digest), cluster).ok());
  const auto repeated = Admit(cluster, SubmitWithDigest("new", digest));
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  EXPECT_TRUE(repeated->replayed);
  EXPECT_FALSE(repeated->append);
  EXPECT_EQ(repeated->run, RunId("r"));
  for (const size_t place : {0, 31, 63}) {
    std::string other = digest;
    other[place] = 'b';
    EXPECT_EQ(Admit(cluster, SubmitWithDigest("new", other)).status().code(),
              StatusCode::kAlreadyExists)
        << place;
  }
}

}  // namespace
}  // namespace gp::coordinator
