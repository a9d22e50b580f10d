// Goal: two requests have the same digest if they describe the same run.
#include "coordinator/service/submission.h"

#include <google/protobuf/reflection.h>
#include <gtest/gtest.h>

#include "proto/every_field.h"

namespace gp::coordinator {
namespace {

TEST(BodyDigest, ChangesWithEveryFieldButTheIdAndTheFilesName) {
  v1::SubmitRequest request;
  testing::SetEveryField(request);
  const std::string digest = BodyDigest(request);
  EXPECT_EQ(digest.size(), 64u);
  const auto* descriptor = v1::SubmitRequest::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* field = descriptor->field(i);
    v1::SubmitRequest other = request;
    other.GetReflection()->ClearField(&other, field);
    const bool same = field->name() == "request_id" || field->name() == "source_name";
    EXPECT_EQ(BodyDigest(other) == digest, same) << field->name();
  }
}

}  // namespace
}  // namespace gp::coordinator
