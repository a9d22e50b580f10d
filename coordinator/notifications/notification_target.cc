#include "coordinator/notifications/notification_target.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/secret_file.h"
#include "coordinator/state/run_reference.h"

namespace gp::coordinator {
namespace {

constexpr size_t kUrlBytesMax = 2048;

StatusOr<std::string> ReadLine(const std::string& key, const std::string& path) {
  StatusOr<std::string> text = ReadSecretFile(path);
  if (!text.ok()) return WithContext(text.status(), key);
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  return text;
}

bool IsPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

const std::vector<std::string>& TargetKindNames() {
  static const std::vector<std::string> names = {"webhook", "slack"};
  return names;
}

const std::vector<std::string>& TargetRunsNames() {
  static const std::vector<std::string> names = {"all", "named"};
  return names;
}

bool NotificationTarget::Serves(const std::string& run_namespace) const {
  return namespaces.empty() || namespaces.contains(run_namespace);
}

bool NotificationTarget::Wants(Occasion occasion, const Run& run) const {
  if (!events.contains(occasion) || !Serves(NamespaceOf(run))) return false;
  const std::vector<std::string>& named = run.submission->notify;
  return runs == TargetRuns::kAll || std::ranges::find(named, name) != named.end();
}

Status CheckUrl(const std::string& url, bool allow_plain) {
  const bool is_plain = url.starts_with("http://");
  if (!is_plain && !url.starts_with("https://")) {
    return InvalidArgument("the URL must begin with https://");
  }
  if (url.size() > kUrlBytesMax || !IsPrintable(url)) {
    return InvalidArgument("the URL must have at most {} characters, without spaces", kUrlBytesMax);
  }
  const std::string_view rest = std::string_view(url).substr(url.find("://") + 3);
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  if (host.empty()) return InvalidArgument("the URL names no host");
  if (host.find('@') != std::string_view::npos) {
    return InvalidArgument("the URL must not hold a user name or a password");
  }
  if (!is_plain || allow_plain) return OkStatus();
  return InvalidArgument(
      "the URL must begin with https://, because others could read plain http; only a target with "
      "allow_private_addresses may use http");
}

StatusOr<std::string> ReadUrl(const NotificationTarget& target) {
  if (target.url_file.empty()) return target.url;
  ASSIGN_OR_RETURN(const std::string url, ReadLine("url_file", target.url_file));
  RETURN_IF_ERROR(
      WithContext(CheckUrl(url, target.allow_private_addresses), "url_file " + target.url_file));
  return url;
}

StatusOr<std::string> ReadSecret(const NotificationTarget& target) {
  ASSIGN_OR_RETURN(const std::string secret, ReadLine("secret_file", target.secret_file));
  if (secret.size() >= kSecretBytesMin) return secret;
  return InvalidArgument("secret_file {}: the secret has {} bytes; it needs at least {}",
                         target.secret_file, secret.size(), kSecretBytesMin);
}

}  // namespace gp::coordinator
