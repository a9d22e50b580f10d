#include "storage/object/s3_client.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text/excerpt.h"
#include "storage/object/digest.h"
#include "storage/object/failure.h"
#include "storage/object/percent.h"

namespace gp::object {
namespace {

constexpr uint64_t kAnswerBytesMax = 32 << 20;  // of lists and errors
constexpr std::string_view kWriterHeader = "x-amz-meta-gp-writer";

bool IsSuccess(const HttpAnswer& answer) { return answer.status >= 200 && answer.status < 300; }

std::string Unquoted(std::string_view etag) {
  std::string text(etag);
  std::erase(text, '"');
  return text;
}

StatusOr<uint64_t> ParseSize(std::string_view text) {
  uint64_t size = 0;
  const char* end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, size).ptr != end) {
    return DataLoss("the answer has the size '{}'", Excerpt(text));
  }
  return size;
}

// Whether the store encrypts with a key of its own, so that ETags are no digests of the content.
bool IsEncrypted(const HttpAnswer& answer) {
  return answer.HeaderValue("x-amz-server-side-encryption").starts_with("aws:kms") ||
         !answer.HeaderValue("x-amz-server-side-encryption-customer-algorithm").empty();
}

// Everything that reads or writes an object is answered with its ETag. A success without one is not
// the store's: the page of a proxy or a login page.
Status CheckIsObject(const HttpAnswer& answer) {
  if (!answer.HeaderValue("etag").empty()) return OkStatus();
  return DataLoss("the answer {} has no ETag, so it does not come from an object store",
                  answer.status);
}

// Whether the store has kept what was sent: an ETag in the form of an MD5 digest must be that of
// the data.
Status CheckEtag(const HttpAnswer& answer, std::string_view data) {
  RETURN_IF_ERROR(CheckIsObject(answer));
  const std::string etag = Unquoted(answer.HeaderValue("etag"));
  const bool is_digest =
      etag.size() == 32 && etag.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_digest || IsEncrypted(answer)) return OkStatus();
  const std::string expected = Hex(Md5(data));
  if (etag == expected) return OkStatus();
  return DataLoss("the object store has other bytes than were sent: their MD5 is {}, expected {}",
                  etag, expected);
}

// The end of a body without a length cannot be told from a connection that broke.
Status CheckHasEnd(const HttpAnswer& answer) {
  if (!answer.HeaderValue("content-length").empty()) return OkStatus();
  if (answer.HeaderValue("transfer-encoding").find("chunked") != std::string_view::npos) {
    return OkStatus();
  }
  return DataLoss("the answer has no length, so nobody can tell whether it is whole");
}

Status CheckIsDeletion(const HttpAnswer& answer) {
  if (answer.status == 204 || answer.body.empty()) return OkStatus();
  return DataLoss("the answer {} has a body, so it does not come from an object store",
                  answer.status);
}

Status CheckRange(const HttpAnswer& answer, ByteRange range, const std::string& etag) {
  RETURN_IF_ERROR(CheckIsObject(answer));
  if (answer.body.size() != range.size) {
    return DataLoss("got {} bytes, expected {}", answer.body.size(), range.size);
  }
  const std::string expected =
      fmt::format("bytes {}-{}/", range.begin, range.begin + range.size - 1);
  const bool is_range = answer.status == 206;
  if (is_range ? !answer.HeaderValue("content-range").starts_with(expected) : range.begin != 0) {
    return DataLoss("got the range '{}', expected '{}'",
                    Excerpt(answer.HeaderValue("content-range")), expected);
  }
  if (answer.HeaderValue("etag") != etag) return Aborted("the object was overwritten");
  return OkStatus();
}

// Callers delete what a list names, so a name outside the prefix must not get through.
Status CheckPrefix(const std::string& name, const std::string& prefix) {
  if (name.starts_with(prefix)) return OkStatus();
  return DataLoss("the list names '{}', which does not begin with '{}'", Excerpt(name),
                  Excerpt(prefix));
}

Status EndlessList(const std::string& name) {
  return Internal("the object store's list of '{}' comes back to an earlier page", Excerpt(name));
}

// Keys in lists are percent-encoded on request, because XML cannot spell every byte.
void AskForEncodedKeys(S3Request& request) { request.query.emplace_back("encoding-type", "url"); }

}  // namespace

struct S3Client::Operation {
  std::string what;  // "put s3://bucket/key"
  S3Request request;
  Accept accept;
  uint64_t answer_bytes_max = kAnswerBytesMax;
};

S3Client::S3Client(ClientOptions options, CredentialSource& credentials, const Clock& clock)
    : options_(std::move(options)),
      credentials_(credentials),
      clock_(clock),
      transport_(options_.transport) {}

std::string S3Client::UrlOf(const std::string& key) const {
  return fmt::format("s3://{}/{}", options_.bucket, key);
}

S3Request S3Client::RequestOf(const std::string& method, const std::string& key) const {
  S3Request request;
  request.method = method;
  request.host = options_.address.host;
  request.path = options_.address.base_path + "/" + key;
  return request;
}

StatusOr<HttpAnswer> S3Client::Send(const S3Request& request, const Credentials& credentials,
                                    WallTime now, uint64_t answer_bytes_max) const {
  HttpRequest http{.method = request.method,
                   .url = options_.address.origin + EncodePath(request.path),
                   .headers = request.headers,
                   .body = request.body,
                   .answer_bytes_max = answer_bytes_max};
  const std::string query = QueryText(request);
  if (!query.empty()) http.url += "?" + query;
  for (Header& header : SignatureHeaders(request, credentials, options_.region, now)) {
    http.headers.push_back(std::move(header));
  }
  return transport_.Perform(http);
}

// The answer to HEAD has no body, so it does not say why it failed; the same GET does.
StatusOr<HttpAnswer> S3Client::SendOnce(const Operation& operation, const Credentials& credentials,
                                        WallTime now) const {
  auto answer = Send(operation.request, credentials, now, operation.answer_bytes_max);
  if (!answer.ok() || IsSuccess(*answer) || operation.request.method != "HEAD") return answer;
  S3Request get = operation.request;
  get.method = "GET";
  get.headers.push_back({"range", "bytes=0-0"});
  auto reason = Send(get, credentials, now, kAnswerBytesMax);
  if (!reason.ok() || !IsSuccess(*reason)) return reason;
  return Unavailable("HEAD was answered with {}, GET with {}", answer->status, reason->status);
}

// One attempt. Its status is OK when the operation is done.
Failure S3Client::Attempt(const Operation& operation, const Credentials& credentials) const {
  const WallTime now = clock_.WallNow();
  const auto answer = SendOnce(operation, credentials, now);
  if (!answer.ok()) {
    const bool is_hopeless = answer.status().code() == StatusCode::kFailedPrecondition;
    return {answer.status(), is_hopeless ? Remedy::kNone : Remedy::kRetry};
  }
  if (!IsSuccess(*answer)) {
    return FailureOf(*answer, {options_.bucket, options_.address.origin, now});
  }
  const Status accepted = operation.accept(*answer);
  const bool may_pass =
      accepted.code() == StatusCode::kDataLoss || accepted.code() == StatusCode::kUnavailable;
  return {accepted, may_pass ? Remedy::kRetry : Remedy::kNone};
}

Status S3Client::Call(const Operation& operation) const {
  Attempts attempts(options_.retry);
  bool signed_again = false, credentials_read = false;
  while (true) {
    const auto credentials = credentials_.Get();
    if (!credentials.ok()) return WithContext(credentials.status(), operation.what);
    const Failure failure = Attempt(operation, *credentials);
    if (failure.status.ok()) return OkStatus();
    const Status failed = WithContext(failure.status, operation.what);
    switch (failure.remedy) {
      case Remedy::kNone:
        return failed;
      case Remedy::kReadCredentials: {
        const auto newer = credentials_.Replace(*credentials);
        if (std::exchange(credentials_read, true) || !newer.ok() || *newer == *credentials) {
          return failed;
        }
        break;
      }
      case Remedy::kSignAgain:
        if (std::exchange(signed_again, true) || !attempts.Next()) return failed;
        break;
      case Remedy::kRetry:
        if (attempts.Next()) break;
        return MakeStatus(failed.code(), "{}; gave up after {}", Message(failed), attempts.Text());
    }
  }
}

Status S3Client::PutWhole(S3Request request, const std::string& key) const {
  const std::string_view data = request.body;
  request.headers.push_back({"content-md5", Base64(Md5(data))});
  return Call({.what = "put " + UrlOf(key),
               .request = std::move(request),
               .accept = [data](const HttpAnswer& answer) { return CheckEtag(answer, data); }});
}

Status S3Client::Put(const std::string& key, std::string_view data) const {
  S3Request request = RequestOf("PUT", key);
  request.body = data;
  return PutWhole(std::move(request), key);
}

Status S3Client::PutIfAbsent(const std::string& key, std::string_view data,
                             const std::string& writer) const {
  S3Request request = RequestOf("PUT", key);
  request.body = data;
  request.headers = {{"if-none-match", "*"}, {std::string(kWriterHeader), writer}};
  return PutWhole(std::move(request), key);
}

StatusOr<ObjectInfo> S3Client::Head(const std::string& key) const {
  ObjectInfo info;
  const auto accept = [&info](const HttpAnswer& answer) -> Status {
    RETURN_IF_ERROR(CheckIsObject(answer));
    ASSIGN_OR_RETURN(info.size, ParseSize(answer.HeaderValue("content-length")));
    info.etag = answer.HeaderValue("etag");
    info.writer = answer.HeaderValue(kWriterHeader);
    return OkStatus();
  };
  RETURN_IF_ERROR(
      Call({.what = "look up " + UrlOf(key), .request = RequestOf("HEAD", key), .accept = accept}));
  return info;
}

StatusOr<std::string> S3Client::Get(const std::string& key, uint64_t size_bytes_max) const {
  std::string data;
  const auto accept = [&](const HttpAnswer& answer) -> Status {
    if (answer.is_cut) {
      return ResourceExhausted("the object is larger than {} bytes", size_bytes_max);
    }
    RETURN_IF_ERROR(CheckIsObject(answer));
    RETURN_IF_ERROR(CheckHasEnd(answer));
    data = answer.body;
    return OkStatus();
  };
  RETURN_IF_ERROR(Call({.what = "get " + UrlOf(key),
                        .request = RequestOf("GET", key),
                        .accept = accept,
                        .answer_bytes_max = size_bytes_max}));
  return data;
}

StatusOr<std::string> S3Client::GetRange(const std::string& key, ByteRange range,
                                         const std::string& etag) const {
  S3Request request = RequestOf("GET", key);
  request.headers = {
      {"range", fmt::format("bytes={}-{}", range.begin, range.begin + range.size - 1)},
      {"if-match", etag}};
  std::string data;
  const auto accept = [&](const HttpAnswer& answer) -> Status {
    RETURN_IF_ERROR(CheckRange(answer, range, etag));
    data = answer.body;
    return OkStatus();
  };
  RETURN_IF_ERROR(Call({.what = "get " + UrlOf(key),
                        .request = std::move(request),
                        .accept = accept,
                        .answer_bytes_max = std::max(range.size, kAnswerBytesMax)}));
  return data;
}

StatusOr<Listing> S3Client::List(const ListRequest& list) const {
  S3Request request = RequestOf("GET", "");
  request.query = {
      {"list-type", "2"}, {"prefix", list.prefix}, {"max-keys", fmt::format("{}", list.count_max)}};
  if (!list.delimiter.empty()) request.query.emplace_back("delimiter", list.delimiter);
  if (!list.continuation.empty()) {
    request.query.emplace_back("continuation-token", list.continuation);
  }
  AskForEncodedKeys(request);
  Listing listing;
  const auto accept = [&](const HttpAnswer& answer) -> Status {
    ASSIGN_OR_RETURN(listing, ParseListing(answer.body));
    for (const std::string& key : listing.keys) RETURN_IF_ERROR(CheckPrefix(key, list.prefix));
    for (const std::string& below : listing.prefixes) {
      RETURN_IF_ERROR(CheckPrefix(below, list.prefix));
    }
    return OkStatus();
  };
  RETURN_IF_ERROR(Call(
      {.what = "list " + UrlOf(list.prefix), .request = std::move(request), .accept = accept}));
  return listing;
}

Status S3Client::Delete(const std::string& key) const {
  const Status deleted = Call({.what = "delete " + UrlOf(key),
                               .request = RequestOf("DELETE", key),
                               .accept = CheckIsDeletion});
  return deleted.code() == StatusCode::kNotFound ? OkStatus() : deleted;
}

StatusOr<std::string> S3Client::CreateUpload(const std::string& key) const {
  S3Request request = RequestOf("POST", key);
  request.query = {{"uploads", ""}};
  std::string id;
  const auto accept = [&id](const HttpAnswer& answer) -> Status {
    ASSIGN_OR_RETURN(id, ParseUploadId(answer.body));
    return OkStatus();
  };
  RETURN_IF_ERROR(Call({.what = "begin the upload of " + UrlOf(key),
                        .request = std::move(request),
                        .accept = accept}));
  return id;
}

StatusOr<Part> S3Client::PutPart(const std::string& key, const std::string& upload, int number,
                                 std::string_view data) const {
  S3Request request = RequestOf("PUT", key);
  request.query = {{"partNumber", fmt::format("{}", number)}, {"uploadId", upload}};
  request.headers = {{"content-md5", Base64(Md5(data))}};
  request.body = data;
  Part part{.number = number, .size = data.size()};
  const auto accept = [&part, data](const HttpAnswer& answer) -> Status {
    RETURN_IF_ERROR(CheckEtag(answer, data));
    part.etag = Unquoted(answer.HeaderValue("etag"));
    return OkStatus();
  };
  RETURN_IF_ERROR(Call({.what = fmt::format("put part {} of {}", number, UrlOf(key)),
                        .request = std::move(request),
                        .accept = accept}));
  return part;
}

StatusOr<std::string> S3Client::CompleteUpload(const std::string& key, const std::string& upload,
                                               const std::vector<Part>& parts) const {
  S3Request request = RequestOf("POST", key);
  request.query = {{"uploadId", upload}};
  const std::string text = CompletionText(parts);
  request.body = text;
  std::string etag;
  const auto accept = [&etag](const HttpAnswer& answer) -> Status {
    ASSIGN_OR_RETURN(etag, ParseCompletion(answer.body));
    return OkStatus();
  };
  RETURN_IF_ERROR(Call({.what = "complete the upload of " + UrlOf(key),
                        .request = std::move(request),
                        .accept = accept}));
  return etag;
}

Status S3Client::AbortUpload(const std::string& key, const std::string& upload) const {
  S3Request request = RequestOf("DELETE", key);
  request.query = {{"uploadId", upload}};
  const Status aborted = Call({.what = "abort the upload of " + UrlOf(key),
                               .request = std::move(request),
                               .accept = CheckIsDeletion});
  return aborted.code() == StatusCode::kNotFound ? OkStatus() : aborted;
}

StatusOr<std::map<int, Part>> S3Client::ListParts(const std::string& key,
                                                  const std::string& upload) const {
  std::map<int, Part> parts;
  PartListing page;
  int last = 0;
  do {
    S3Request request = RequestOf("GET", key);
    request.query = {{"uploadId", upload}};
    if (page.next != 0) {
      request.query.emplace_back("part-number-marker", fmt::format("{}", page.next));
    }
    const auto accept = [&page](const HttpAnswer& answer) -> Status {
      ASSIGN_OR_RETURN(page, ParseParts(answer.body));
      return OkStatus();
    };
    RETURN_IF_ERROR(Call({.what = "list the parts of " + UrlOf(key),
                          .request = std::move(request),
                          .accept = accept}));
    for (Part& part : page.parts) parts[part.number] = std::move(part);
    if (page.next != 0 && page.next <= std::exchange(last, page.next)) return EndlessList(key);
  } while (page.next != 0);
  return parts;
}

StatusOr<std::vector<Upload>> S3Client::ListUploads(const std::string& prefix) const {
  std::vector<Upload> uploads;
  UploadListing page;
  std::pair<std::string, std::string> last;
  do {
    S3Request request = RequestOf("GET", "");
    request.query = {{"uploads", ""}, {"prefix", prefix}};
    if (!page.next_key.empty()) {
      request.query.emplace_back("key-marker", page.next_key);
      request.query.emplace_back("upload-id-marker", page.next_id);
    }
    AskForEncodedKeys(request);
    const auto accept = [&](const HttpAnswer& answer) -> Status {
      ASSIGN_OR_RETURN(page, ParseUploads(answer.body));
      for (const Upload& upload : page.uploads) RETURN_IF_ERROR(CheckPrefix(upload.key, prefix));
      return OkStatus();
    };
    RETURN_IF_ERROR(Call({.what = "list the uploads to " + UrlOf(prefix),
                          .request = std::move(request),
                          .accept = accept}));
    for (Upload& upload : page.uploads) uploads.push_back(std::move(upload));
    const auto next = std::pair(page.next_key, page.next_id);
    if (!page.next_key.empty() && next <= std::exchange(last, next)) return EndlessList(prefix);
  } while (!page.next_key.empty());
  return uploads;
}

}  // namespace gp::object
