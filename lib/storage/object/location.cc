#include "storage/object/location.h"

#include <string_view>

#include "base/text/excerpt.h"

namespace gp::object {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr std::string_view kNameBytes =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
constexpr std::string_view kHostBytes =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]";

// "https://host" in "https://host:443", as HTTP clients write the header Host.
std::string_view WithoutDefaultPort(std::string_view host, bool is_tls) {
  const std::string_view port = is_tls ? ":443" : ":80";
  return host.ends_with(port) ? host.substr(0, host.size() - port.size()) : host;
}

bool IsByHost(const std::string& bucket, bool is_aws, Addressing addressing) {
  if (addressing != Addressing::kByServer) return addressing == Addressing::kHost;
  return is_aws && bucket.find('.') == std::string::npos;
}

}  // namespace

StatusOr<Location> ParseLocation(const std::string& url) {
  if (!url.starts_with(kScheme)) {
    return InvalidArgument("'{}' is not a URL such as s3://bucket/prefix", Excerpt(url));
  }
  const std::string_view rest = std::string_view(url).substr(kScheme.size());
  const std::string_view bucket = rest.substr(0, rest.find('/'));
  if (bucket.size() < 3 || bucket.size() > 63 ||
      bucket.find_first_not_of(kNameBytes) != std::string_view::npos) {
    return InvalidArgument(
        "{}: '{}' cannot be a bucket; its name has 3 to 63 letters, digits, dots and hyphens",
        Excerpt(url), Excerpt(bucket));
  }
  std::string_view prefix = rest.substr(bucket.size());
  while (prefix.starts_with('/')) prefix.remove_prefix(1);
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  return Location{std::string(bucket), std::string(prefix)};
}

StatusOr<BucketAddress> AddressOf(const std::string& bucket, const std::string& endpoint,
                                  const std::string& region, Addressing addressing) {
  const bool is_aws = endpoint.empty();
  const std::string url = is_aws ? fmt::format("https://s3.{}.amazonaws.com", region) : endpoint;
  const bool is_tls = url.starts_with("https://");
  std::string_view host = url;
  if (!is_tls && !url.starts_with("http://")) host = {};
  if (!host.empty()) host.remove_prefix(host.find("//") + 2);
  if (host.ends_with('/')) host.remove_suffix(1);
  if (host.empty() || host.find_first_not_of(kHostBytes) != std::string_view::npos) {
    // A URL with a user may have a password, which must not be repeated.
    const bool has_user = url.find('@') != std::string::npos;
    return InvalidArgument("endpoint '{}': expected http://HOST[:PORT] or https://HOST[:PORT]",
                           has_user ? "…@…" : Excerpt(url));
  }
  BucketAddress address;
  address.host = WithoutDefaultPort(host, is_tls);
  if (IsByHost(bucket, is_aws, addressing)) {
    address.host = bucket + "." + address.host;
  } else {
    address.base_path = "/" + bucket;
  }
  address.origin = (is_tls ? "https://" : "http://") + address.host;
  return address;
}

}  // namespace gp::object
