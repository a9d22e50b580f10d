#include "storage/object/instance_credentials.h"

#include <nlohmann/json.hpp>

#include "base/text/excerpt.h"
#include "storage/object/http_transport.h"
#include "storage/object/wire_time.h"

namespace gp::object {
namespace {

constexpr uint64_t kMetadataBytesMax = 64 << 10;
constexpr const char* kRolePath = "/latest/meta-data/iam/security-credentials/";

// Outside a cloud nobody answers, so the wait is short.
HttpTransport LocalTransport() {
  return HttpTransport({.uses_proxy = false,
                        .connect = std::chrono::milliseconds(1000),
                        .total = std::chrono::milliseconds(5000)});
}

StatusOr<std::string> Fetch(const HttpTransport& transport, const std::string& method,
                            const std::string& url, const std::vector<Header>& headers) {
  const auto answer = transport.Perform(
      {.method = method, .url = url, .headers = headers, .answer_bytes_max = kMetadataBytesMax});
  if (!answer.ok()) return WithContext(answer.status(), url);
  if (answer->status == 200 && !answer->is_cut) return answer->body;
  return Unavailable("{} answered {}", url, answer->status);
}

std::string Field(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// The body is not quoted in errors, because it contains the secret.
StatusOr<Credentials> ParseMetadata(const std::string& body, const std::string& url) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object()) return DataLoss("{} did not answer with a JSON object", url);
  Credentials credentials{.access_key_id = Field(json, "AccessKeyId"),
                          .secret_access_key = Field(json, "SecretAccessKey"),
                          .session_token = Field(json, "Token")};
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty()) {
    return DataLoss("{} answered without AccessKeyId and SecretAccessKey", url);
  }
  const auto expires = ParseTime(Field(json, "Expiration"));
  if (expires.ok()) credentials.expires = *expires;
  return credentials;
}

}  // namespace

StatusOr<Credentials> ReadContainerCredentials(const std::string& url,
                                               const std::string& authorization) {
  std::vector<Header> headers;
  if (!authorization.empty()) headers.push_back({"authorization", authorization});
  ASSIGN_OR_RETURN(const std::string body, Fetch(LocalTransport(), "GET", url, headers));
  return ParseMetadata(body, url);
}

StatusOr<Credentials> ReadInstanceCredentials(const std::string& endpoint) {
  const HttpTransport transport = LocalTransport();
  ASSIGN_OR_RETURN(const std::string token,
                   Fetch(transport, "PUT", endpoint + "/latest/api/token",
                         {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"}}));
  const std::vector<Header> headers = {{"x-aws-ec2-metadata-token", token}};
  const std::string url = endpoint + kRolePath;
  ASSIGN_OR_RETURN(const std::string roles, Fetch(transport, "GET", url, headers));
  const std::string role = roles.substr(0, roles.find('\n'));
  if (role.empty()) return FailedPrecondition("{} names no role of this machine", url);
  ASSIGN_OR_RETURN(const std::string body, Fetch(transport, "GET", url + role, headers));
  return ParseMetadata(body, url + Excerpt(role));
}

}  // namespace gp::object
