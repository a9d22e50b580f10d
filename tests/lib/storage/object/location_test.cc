// Goal: a URL names the bucket that was meant, at the address that the server expects.
#include "storage/object/location.h"

#include <gtest/gtest.h>

namespace gp::object {
namespace {

TEST(Location, HasBucketAndPrefix) {
  EXPECT_EQ(ParseLocation("s3://bucket")->prefix, "");
  EXPECT_EQ(ParseLocation("s3://bucket/")->prefix, "");
  const Location location = ParseLocation("s3://my-bucket/a/b/").value();
  EXPECT_EQ(location.bucket, "my-bucket");
  EXPECT_EQ(location.prefix, "a/b");
}

TEST(Location, OfAnotherFormIsRefused) {
  for (const char* url : {"", "/data", "https://bucket/a", "s3:/bucket", "s3://", "s3:///a",
                          "s3://ab", "s3://user@bucket/a", "s3://buck et"}) {
    EXPECT_EQ(ParseLocation(url).status().code(), StatusCode::kInvalidArgument) << url;
  }
}

TEST(Address, IsByHostAtAwsAndByPathElsewhere) {
  const auto aws = AddressOf("bucket", "", "eu-west-1", Addressing::kByServer).value();
  EXPECT_EQ(aws.origin, "https://bucket.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(aws.host, "bucket.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(aws.base_path, "");
  const auto dotted = AddressOf("a.bucket", "", "eu-west-1", Addressing::kByServer).value();
  EXPECT_EQ(dotted.origin, "https://s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(dotted.base_path, "/a.bucket");
  const auto other =
      AddressOf("bucket", "http://localhost:9000/", "x", Addressing::kByServer).value();
  EXPECT_EQ(other.origin, "http://localhost:9000");
  EXPECT_EQ(other.host, "localhost:9000");
  EXPECT_EQ(other.base_path, "/bucket");
}

TEST(Address, FollowsTheSetting) {
  EXPECT_EQ(AddressOf("bucket", "https://s3.example", "x", Addressing::kHost)->origin,
            "https://bucket.s3.example");
  EXPECT_EQ(AddressOf("bucket", "", "x", Addressing::kPath)->base_path, "/bucket");
}

// HTTP clients leave the default port out of the header Host, which is signed.
TEST(Address, HasNoDefaultPort) {
  EXPECT_EQ(AddressOf("bucket", "https://s3.example:443", "x", Addressing::kPath)->host,
            "s3.example");
  EXPECT_EQ(AddressOf("bucket", "http://s3.example:80", "x", Addressing::kPath)->host,
            "s3.example");
  EXPECT_EQ(AddressOf("bucket", "http://s3.example:443", "x", Addressing::kPath)->host,
            "s3.example:443");
}

TEST(Address, OfAnotherFormIsRefused) {
  for (const char* endpoint : {"s3.example", "ftp://s3.example", "https://", "https://s3.example/a",
                               "https://user:secret@s3.example"}) {
    EXPECT_EQ(AddressOf("bucket", endpoint, "x", Addressing::kPath).status().code(),
              StatusCode::kInvalidArgument)
        << endpoint;
  }
}

}  // namespace
}  // namespace gp::object
