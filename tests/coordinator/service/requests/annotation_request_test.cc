// Goal: nothing that would disturb a screen or a list is written on a run, and the refusal says
// why.
#include "coordinator/service/requests/annotation_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

using ::testing::HasSubstr;

v1::AnnotateRequest WithLabel(const std::string& key, const std::string& value) {
  v1::AnnotateRequest request;
  (*request.mutable_labels())[key] = value;
  return request;
}

v1::AnnotateRequest WithNote(const std::string& note) {
  v1::AnnotateRequest request;
  request.set_note(note);
  return request;
}

std::string Refusal(const v1::AnnotateRequest& request) {
  const auto change = AnnotationOf(request);
  EXPECT_EQ(change.status().code(), StatusCode::kInvalidArgument);
  return Message(change.status());
}

TEST(AnnotationRequest, IsTakenAsItIs) {
  v1::AnnotateRequest request = WithLabel("team", "größer = besser");
  request.add_removed_labels("old=key");
  request.set_note("first line\n\tsecond line");
  const auto change = AnnotationOf(request);
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->labels.at("team"), "größer = besser");
  EXPECT_EQ(change->removed_labels, std::vector<std::string>{"old=key"});
  EXPECT_EQ(change->note, "first line\n\tsecond line");
  EXPECT_FALSE(AnnotationOf(WithLabel("a", ""))->note.has_value());
}

TEST(AnnotationRequest, RefusesWhatWouldDisturbAScreenOrAList) {
  EXPECT_THAT(Refusal(WithLabel("", "x")), HasSubstr("needs a key"));
  EXPECT_THAT(Refusal(WithLabel("a=b", "x")), HasSubstr("'a=b' of a label has a blank or '='"));
  EXPECT_THAT(Refusal(WithLabel("a b", "x")), HasSubstr("expected one word"));
  EXPECT_THAT(Refusal(WithLabel("a", "x\x1b[2J")), HasSubstr("value of label 'a' has control"));
  EXPECT_THAT(Refusal(WithLabel("a", "two\nlines")), HasSubstr("control characters"));
  EXPECT_THAT(Refusal(WithLabel("a", "\u202ereversed")), HasSubstr("control characters"));
  EXPECT_THAT(Refusal(WithNote("bell\a")), HasSubstr("the note has control characters"));
  EXPECT_THAT(Refusal(WithNote(std::string(kNoteBytesMax + 1, 'x'))),
              HasSubstr("the note has 4097 bytes; at most 4096 are kept"));
  EXPECT_THAT(Refusal(WithLabel(std::string(64, 'k'), "x")), HasSubstr("64 bytes; at most 63"));
  EXPECT_THAT(Refusal(WithLabel("a", std::string(257, 'x'))), HasSubstr("257 bytes"));
}

TEST(AnnotationRequest, RefusesToRemoveALabelWithAHugeKey) {
  v1::AnnotateRequest request;
  request.add_removed_labels(std::string(1024, 'k'));
  EXPECT_TRUE(AnnotationOf(request).ok());
  request.add_removed_labels(std::string(1025, 'k'));
  EXPECT_THAT(Refusal(request), HasSubstr("1025 bytes; at most 1024"));
}

TEST(AnnotationRequest, RefusesAContradictionAndNothingAtAll) {
  v1::AnnotateRequest both = WithLabel("a", "x");
  both.add_removed_labels("a");
  EXPECT_THAT(Refusal(both), HasSubstr("'a' is set and removed at once"));
  EXPECT_THAT(Refusal(v1::AnnotateRequest()), HasSubstr("neither a label nor the note"));
}

}  // namespace
}  // namespace gp::coordinator
