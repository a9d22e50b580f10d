#include "base/local_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gp {
namespace {

using ::testing::HasSubstr;

TEST(CheckLocalPath, RefusesAddressesOfEveryScheme) {
  for (const char* address :
       {"s3://bucket/runs", "gs://b/x", "http://host/x", "https://host/x.txt", "hf://datasets/x",
        "S3://B/x", "abfss://c@a.dfs.core.windows.net/x", "git+ssh://host/x", "hdfs:///data"}) {
    const Status status = CheckLocalPath(address);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << address;
    EXPECT_THAT(Message(status), HasSubstr(std::string("'") + address + "' is an address"))
        << address;
  }
}

TEST(CheckLocalPath, NamesThePathInsideAFileAddress) {
  EXPECT_THAT(Message(CheckLocalPath("file:///data/text.txt")),
              HasSubstr("write only the path: /data/text.txt"));
}

TEST(CheckLocalPath, TakesEveryOtherText) {
  for (const char* path : {"", "-", "text.txt", "/data/s3://x", "./s3://x", "../a:b", "a:/b", "c:b",
                           "data/http://x", "://x", "1a://x", "bytes", "odd name://x", "s3:/b"}) {
    EXPECT_TRUE(CheckLocalPath(path).ok()) << path;
  }
}

}  // namespace
}  // namespace gp
