#include "storage/object/signature.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/object/digest.h"
#include "storage/object/percent.h"
#include "storage/object/wire_time.h"

namespace gp::object {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::vector<Header> SortedHeaders(std::vector<Header> headers) {
  std::sort(headers.begin(), headers.end(),
            [](const Header& a, const Header& b) { return a.name < b.name; });
  return headers;
}

std::string NamesOf(const std::vector<Header>& headers) {
  std::string names;
  for (const Header& header : headers) {
    if (!names.empty()) names += ';';
    names += header.name;
  }
  return names;
}

std::string CanonicalText(const S3Request& request, const std::vector<Header>& headers,
                          const std::string& body_digest) {
  std::string lines;
  for (const Header& header : headers) lines += header.name + ":" + header.value + "\n";
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, EncodePath(request.path),
                     QueryText(request), lines, NamesOf(headers), body_digest);
}

// The key for one day, one region and S3.
std::string SigningKey(const Credentials& credentials, const std::string& day,
                       const std::string& region) {
  const std::string of_day = HmacSha256("AWS4" + credentials.secret_access_key, day);
  const std::string of_region = HmacSha256(of_day, region);
  return HmacSha256(HmacSha256(of_region, "s3"), "aws4_request");
}

}  // namespace

std::string QueryText(const S3Request& request) {
  std::vector<std::pair<std::string, std::string>> encoded;
  for (const auto& [name, value] : request.query) {
    encoded.emplace_back(EncodePart(name), EncodePart(value));
  }
  std::sort(encoded.begin(), encoded.end());
  std::string text;
  for (const auto& [name, value] : encoded) {
    if (!text.empty()) text += '&';
    text += name + "=" + value;
  }
  return text;
}

std::vector<Header> SignatureHeaders(const S3Request& request, const Credentials& credentials,
                                     const std::string& region, WallTime now) {
  const std::string time = SigningTime(now), day = time.substr(0, 8);
  const std::string body_digest = Hex(Sha256(request.body));
  std::vector<Header> added = {{"x-amz-content-sha256", body_digest}, {"x-amz-date", time}};
  if (!credentials.session_token.empty()) {
    added.push_back({"x-amz-security-token", credentials.session_token});
  }
  std::vector<Header> headers = request.headers;
  headers.insert(headers.end(), added.begin(), added.end());
  headers.push_back({"host", request.host});
  headers = SortedHeaders(std::move(headers));

  const std::string scope = fmt::format("{}/{}/s3/aws4_request", day, region);
  const std::string text = fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, scope,
                                       Hex(Sha256(CanonicalText(request, headers, body_digest))));
  const std::string signature = Hex(HmacSha256(SigningKey(credentials, day, region), text));
  added.push_back({"authorization",
                   fmt::format("{} Credential={}/{},SignedHeaders={},Signature={}", kAlgorithm,
                               credentials.access_key_id, scope, NamesOf(headers), signature)});
  return added;
}

}  // namespace gp::object
