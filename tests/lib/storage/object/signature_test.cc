// Goal: signatures are those of Signature Version 4. The first four requests and their signatures
// are the examples of
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
#include "storage/object/signature.h"

#include <gtest/gtest.h>

namespace gp::object {
namespace {

const Credentials kCredentials{.access_key_id = "AKIAIOSFODNN7EXAMPLE",
                               .secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
const WallTime kTime{std::chrono::seconds(1369353600)};  // 2013-05-24T00:00:00Z

S3Request ExampleRequest(const std::string& method, const std::string& path) {
  S3Request request;
  request.method = method;
  request.host = "examplebucket.s3.amazonaws.com";
  request.path = path;
  return request;
}

std::string HeaderOf(const S3Request& request, const Credentials& credentials,
                     const std::string& name) {
  for (const Header& header : SignatureHeaders(request, credentials, "us-east-1", kTime)) {
    if (header.name == name) return header.value;
  }
  return "";
}

std::string SignatureOf(const S3Request& request) {
  const std::string text = HeaderOf(request, kCredentials, "authorization");
  return text.substr(text.find("Signature=") + 10);
}

TEST(Signature, OfAGetWithARange) {
  S3Request request = ExampleRequest("GET", "/test.txt");
  request.headers = {{"range", "bytes=0-9"}};
  EXPECT_EQ(HeaderOf(request, kCredentials, "authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(Signature, OfAPutWithABodyAndASpecialCharacter) {
  S3Request request = ExampleRequest("PUT", "/test$file.text");
  request.headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                     {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  request.body = "Welcome to Amazon S3.";
  EXPECT_EQ(SignatureOf(request),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(Signature, OfAQueryWithoutAValue) {
  S3Request request = ExampleRequest("GET", "/");
  request.query = {{"lifecycle", ""}};
  EXPECT_EQ(SignatureOf(request),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(Signature, OfAQueryInAnyOrder) {
  for (const bool reversed : {false, true}) {
    S3Request request = ExampleRequest("GET", "/");
    request.query = {{"max-keys", "2"}, {"prefix", "J"}};
    if (reversed) std::swap(request.query[0], request.query[1]);
    EXPECT_EQ(SignatureOf(request),
              "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
    EXPECT_EQ(QueryText(request), "max-keys=2&prefix=J");
  }
}

TEST(Signature, CoversTheSessionToken) {
  Credentials temporary = kCredentials;
  temporary.session_token = "token";
  const S3Request request = ExampleRequest("GET", "/a");
  EXPECT_EQ(HeaderOf(request, temporary, "x-amz-security-token"), "token");
  EXPECT_NE(HeaderOf(request, temporary, "authorization")
                .find("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"),
            std::string::npos);
  EXPECT_EQ(HeaderOf(request, kCredentials, "x-amz-security-token"), "");
}

}  // namespace
}  // namespace gp::object
