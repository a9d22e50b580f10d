// Goal: times are written and read as S3 does.
#include "storage/object/wire_time.h"

#include <gtest/gtest.h>

namespace gp::object {
namespace {

const WallTime kExampleTime{std::chrono::seconds(1369353600)};

TEST(WireTime, IsWrittenInUtc) {
  EXPECT_EQ(SigningTime(kExampleTime), "20130524T000000Z");
  EXPECT_EQ(AnswerTime(kExampleTime + std::chrono::milliseconds(1999)), "2013-05-24T00:00:01Z");
}

TEST(WireTime, IsReadInBothForms) {
  for (const char* text : {"20130524T000000Z", "2013-05-24T00:00:00Z", "2013-05-24T00:00:00.123Z",
                           "2013-05-24T00:00:00.123456Z"}) {
    EXPECT_EQ(ParseTime(text).value(), kExampleTime) << text;
  }
  for (const char* text : {"", "yesterday", "2013-05-24", "2013-05-24T00:00:00+02:00"}) {
    EXPECT_EQ(ParseTime(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace gp::object
