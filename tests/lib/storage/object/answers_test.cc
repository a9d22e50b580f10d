// Goal: what a server says is read as it is, and half of it is never taken for the whole.
#include "storage/object/answers.h"

#include <gtest/gtest.h>

namespace gp::object {
namespace {

constexpr const char* kListing =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>bucket</Name>"
    "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
    "<NextContinuationToken>1ueGcx&amp;=</NextContinuationToken>"
    "<Contents><Key>a%2Fb+c%2Bd</Key><Size>3</Size></Contents><Contents><Key>e</Key></Contents>"
    "<CommonPrefixes><Prefix>a%2F</Prefix></CommonPrefixes></ListBucketResult>";

constexpr const char* kParts =
    "<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>2</NextPartNumberMarker>"
    "<Part><PartNumber>1</PartNumber><ETag>&quot;abc&quot;</ETag><Size>5242880</Size></Part>"
    "<Part><PartNumber>2</PartNumber><ETag>def</ETag><Size>7</Size></Part></ListPartsResult>";

constexpr const char* kUploads =
    "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated><Upload><Key>a</Key>"
    "<UploadId>id</UploadId><Initiated>2013-05-24T00:00:00.000Z</Initiated></Upload>"
    "</ListMultipartUploadsResult>";

TEST(Answers, AListHasKeysPrefixesAndTheNextPage) {
  const Listing listing = ParseListing(kListing).value();
  EXPECT_EQ(listing.keys, (std::vector<std::string>{"a/b c+d", "e"}));
  EXPECT_EQ(listing.prefixes, std::vector<std::string>{"a/"});
  EXPECT_EQ(listing.continuation, "1ueGcx&=");
}

TEST(Answers, KeysAreNotDecodedWhereTheServerDidNotEncode) {
  const std::string body =
      "<ListBucketResult><Contents><Key>a%20+b&amp;</Key></Contents></ListBucketResult>";
  EXPECT_EQ(ParseListing(body)->keys, std::vector<std::string>{"a%20+b&"});
}

TEST(Answers, PartsHaveTheirEtagsWithoutQuotes) {
  const PartListing listing = ParseParts(kParts).value();
  ASSERT_EQ(listing.parts.size(), 2u);
  EXPECT_EQ(listing.parts[0].etag, "abc");
  EXPECT_EQ(listing.parts[0].size, 5242880u);
  EXPECT_EQ(listing.parts[1].etag, "def");
  EXPECT_EQ(listing.next, 2);
}

TEST(Answers, UploadsHaveTheirTimes) {
  const UploadListing listing = ParseUploads(kUploads).value();
  ASSERT_EQ(listing.uploads.size(), 1u);
  EXPECT_EQ(listing.uploads[0].key, "a");
  EXPECT_EQ(listing.uploads[0].id, "id");
  EXPECT_EQ(listing.uploads[0].initiated, WallTime(std::chrono::seconds(1369353600)));
  EXPECT_EQ(listing.next_key, "");
}

TEST(Answers, TextsThatAreCutAtAnyByteAreRefused) {
  const auto is_refused = [](const std::string& whole, const auto& parse) {
    EXPECT_TRUE(parse(whole).ok()) << whole;
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_EQ(parse(whole.substr(0, size)).status().code(), StatusCode::kDataLoss) << size;
    }
  };
  is_refused(kListing, ParseListing);
  is_refused(kParts, ParseParts);
  is_refused(kUploads, ParseUploads);
  is_refused(
      "<InitiateMultipartUploadResult><UploadId>x</UploadId></InitiateMultipartUploadResult>",
      ParseUploadId);
  is_refused("<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>",
             ParseCompletion);
}

TEST(Answers, OfAnotherKindAreRefused) {
  for (const char* body : {"", "{}", "<html><body>login</body></html>", "<ListPartsResult/>"}) {
    EXPECT_EQ(ParseListing(body).status().code(), StatusCode::kDataLoss) << body;
  }
  EXPECT_EQ(ParseListing("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>")
                .status()
                .code(),
            StatusCode::kDataLoss);
  EXPECT_EQ(ParseUploadId("<InitiateMultipartUploadResult/>").status().code(),
            StatusCode::kDataLoss);
}

TEST(Answers, ACompletionThatFailedLateIsAnError) {
  const auto completed = ParseCompletion(
      "<?xml "
      "version=\"1.0\"?>\n\n<Error><Code>InternalError</Code><Message>again</Message></Error>");
  EXPECT_EQ(completed.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Message(completed.status()), "InternalError (again)");
}

TEST(Answers, ErrorsThatAreNoXmlAreEmpty) {
  EXPECT_EQ(ParseError("<html>502</html>").code, "");
  EXPECT_EQ(ParseError("<Error><Code>SlowDown</Code></Error>").code, "SlowDown");
}

TEST(Answers, TheEndOfAnUploadNamesItsParts) {
  EXPECT_EQ(CompletionText({{1, "a", 0}, {2, "b", 0}}),
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag></Part>"
            "<Part><PartNumber>2</PartNumber><ETag>\"b\"</ETag></Part></CompleteMultipartUpload>");
}

}  // namespace
}  // namespace gp::object
