#include "coordinator/notifications/webhook_client.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/text/excerpt.h"
#include "coordinator/notifications/address_check.h"

namespace gp::coordinator {
namespace {

constexpr size_t kHeaderBytesMax = 16384;
constexpr size_t kExcerptCharactersMax = 200;

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Easy = std::unique_ptr<CURL, FreeEasy>;
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

// The state that the callbacks of one transfer share.
struct Transfer {
  const WebhookLimits& limits;
  const std::function<bool()>& stopped;
  bool allow_private = false;
  bool is_plain = false;  // http
  std::optional<std::string> refused_address;
  size_t header_bytes = 0;
  std::string answer;
  bool is_cut = false;  // the answer was longer than its limit
};

// Called with the address that curl is about to connect to, after name resolution.
curl_socket_t OpenSocket(void* user, curlsocktype /*purpose*/, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.refused_address = AddressRefusal(address->addr, transfer.allow_private);
  const CheckedAddress checked = CheckAddress(address->addr);
  if (transfer.is_plain && checked.kind == AddressKind::kPublic) {
    transfer.refused_address = checked.text + " is public: others could read plain http; use https";
  }
  if (transfer.refused_address) return CURL_SOCKET_BAD;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

size_t ReceiveBody(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const size_t bytes = size * count;
  const size_t room = transfer.limits.answer_bytes_max - transfer.answer.size();
  transfer.answer.append(data, std::min(bytes, room));
  transfer.is_cut = bytes > room;
  return transfer.is_cut ? 0 : bytes;
}

size_t ReceiveHeader(char* /*data*/, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.header_bytes += size * count;
  return transfer.header_bytes > kHeaderBytesMax ? 0 : size * count;
}

int Progress(void* user, curl_off_t /*down*/, curl_off_t /*downloaded*/, curl_off_t /*up*/,
             curl_off_t /*uploaded*/) {
  return static_cast<Transfer*>(user)->stopped() ? 1 : 0;
}

std::string HostOf(const std::string& url) {
  const std::unique_ptr<CURLU, FreeUrl> parsed(curl_url());
  char* host = nullptr;
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK ||
      curl_url_get(parsed.get(), CURLUPART_HOST, &host, 0) != CURLUE_OK) {
    return "the receiver";
  }
  std::string name = Excerpt(host);
  curl_free(host);
  return name;
}

HeaderList HeadersOf(const WebhookRequest& request) {
  HeaderList list(curl_slist_append(nullptr, "Content-Type: application/json"));
  for (const std::string& header : request.headers) {
    list.reset(curl_slist_append(list.release(), header.c_str()));
  }
  // Without it curl would wait for a "100 Continue" before it sends a long body.
  list.reset(curl_slist_append(list.release(), "Expect:"));
  return list;
}

void SetOptions(CURL* easy, const WebhookRequest& request, const curl_slist* headers,
                Transfer& transfer) {
  const auto set = [easy](CURLoption option, auto value) { curl_easy_setopt(easy, option, value); };
  const auto milliseconds = [](std::chrono::milliseconds time) {
    return static_cast<long>(time.count());  // NOLINT(google-runtime-int): libcurl's type
  };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(transfer.limits.connect));
  set(CURLOPT_TIMEOUT_MS, milliseconds(transfer.limits.total));
  set(CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
  set(CURLOPT_OPENSOCKETDATA, &transfer);
  set(CURLOPT_WRITEFUNCTION, &ReceiveBody);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_HEADERFUNCTION, &ReceiveHeader);
  set(CURLOPT_HEADERDATA, &transfer);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &Progress);
  set(CURLOPT_XFERINFODATA, &transfer);
  set(CURLOPT_USERAGENT, "gp-coordinator/" GP_VERSION);
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  set(CURLOPT_POSTFIELDS, request.body.c_str());
}

Status ErrorOf(CURLcode code, const std::string& host, const Transfer& transfer,
               const char* details) {
  if (transfer.stopped()) return Cancelled("the coordinator stops");
  if (code == CURLE_COULDNT_CONNECT && transfer.refused_address) {
    return FailedPrecondition("{}: the address {}", host, *transfer.refused_address);
  }
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return DeadlineExceeded("{}: no answer within {:.3g} s", host,
                            std::chrono::duration<double>(transfer.limits.total).count());
  }
  const std::string_view why = *details != '\0' ? details : curl_easy_strerror(code);
  return Unavailable("{}: {}", host, Excerpt(why, kExcerptCharactersMax));
}

void InitCurlOnce() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

}  // namespace

StatusOr<WebhookReply> PostWebhook(const WebhookRequest& request,
                                   const std::function<bool()>& stopped,
                                   const WebhookLimits& limits) {
  InitCurlOnce();
  const Easy easy(curl_easy_init());
  if (easy == nullptr) return ResourceExhausted("not enough memory for a request");
  Transfer transfer{.limits = limits,
                    .stopped = stopped,
                    .allow_private = request.allow_private_addresses,
                    .is_plain = request.url.starts_with("http://")};
  const HeaderList headers = HeadersOf(request);
  SetOptions(easy.get(), request, headers.get(), transfer);
  char details[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, details);
  const CURLcode code = curl_easy_perform(easy.get());
  long status = 0;  // NOLINT(google-runtime-int): libcurl's type
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  const bool is_answered = code == CURLE_OK || (transfer.is_cut && status > 0);
  if (!is_answered) return ErrorOf(code, HostOf(request.url), transfer, details);
  return WebhookReply{static_cast<int>(status), Excerpt(transfer.answer, kExcerptCharactersMax)};
}

}  // namespace gp::coordinator
