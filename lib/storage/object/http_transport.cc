#include "storage/object/http_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/text/excerpt.h"

namespace gp::object {
namespace {

constexpr size_t kHeaderBytesMax = 64 << 10;
constexpr uint64_t kErrorBytesMax = 64 << 10;  // of the body of an answer that is no success
constexpr size_t kIdleMax = 16;
constexpr size_t kExcerptCharactersMax = 200;

struct EndList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, EndList>;

// The answer while it comes in.
struct Reception {
  CURL* easy = nullptr;
  HttpAnswer answer;
  uint64_t body_bytes_max = 0;
  size_t header_bytes = 0;
  bool has_whole_head = false;
};

int StatusOf(CURL* easy) {
  long status = 0;  // NOLINT(google-runtime-int): libcurl's type
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

size_t KeepBody(char* data, size_t size, size_t count, void* user) {
  auto& reception = *static_cast<Reception*>(user);
  const size_t bytes = size * count;
  const bool is_error = StatusOf(reception.easy) >= 300;
  const uint64_t room =
      (is_error ? kErrorBytesMax : reception.body_bytes_max) - reception.answer.body.size();
  reception.answer.is_cut = bytes > room;
  reception.answer.body.append(data, std::min<uint64_t>(bytes, room));
  return reception.answer.is_cut ? 0 : bytes;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& byte : lower) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
  }
  return lower;
}

size_t KeepHeader(char* data, size_t size, size_t count, void* user) {
  auto& reception = *static_cast<Reception*>(user);
  const std::string_view line(data, size * count);
  reception.header_bytes += line.size();
  if (reception.header_bytes > kHeaderBytesMax) return 0;
  // Headers of an answer that another one follows (100 Continue, a proxy's own) do not count.
  if (line.starts_with("HTTP/")) reception.answer.headers.clear();
  reception.has_whole_head = Trimmed(line).empty();
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    reception.answer.headers.push_back(
        {LowerCase(Trimmed(line.substr(0, colon))), std::string(Trimmed(line.substr(colon + 1)))});
  }
  return line.size();
}

HeaderList ListOf(const std::vector<Header>& headers) {
  // Without the first, curl would wait for "100 Continue" before it sends a long body. The second
  // prevents the content type of a form.
  HeaderList list(curl_slist_append(curl_slist_append(nullptr, "Expect:"), "Content-Type:"));
  for (const Header& header : headers) {
    // "name;" is how curl spells a header without a value.
    const std::string line =
        header.value.empty() ? header.name + ";" : header.name + ": " + header.value;
    list.reset(curl_slist_append(list.release(), line.c_str()));
  }
  return list;
}

void InitCurl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

bool IsHopeless(CURLcode code) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      return true;
    default:
      return false;
  }
}

}  // namespace

// One easy handle. libcurl keeps its connection open from one request to the next.
class HttpTransport::Connection {
 public:
  Connection() : easy_(curl_easy_init()) {}
  ~Connection() { curl_easy_cleanup(easy_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool valid() const { return easy_ != nullptr; }

  StatusOr<HttpAnswer> Perform(const HttpRequest& request, const TransportOptions& options) {
    curl_easy_reset(easy_);
    Reception reception{.easy = easy_, .body_bytes_max = request.answer_bytes_max};
    const HeaderList headers = ListOf(request.headers);
    SetLimits(options);
    SetRequest(request, headers.get());
    SetReception(reception);
    details_[0] = '\0';
    const CURLcode code = curl_easy_perform(easy_);
    reception.answer.status = StatusOf(easy_);
    const bool is_received = code == CURLE_OK || reception.answer.is_cut;
    if (!is_received) return ErrorOf(code, options);
    // libcurl takes a connection that is closed inside the headers for a whole answer.
    if (!reception.has_whole_head) return Unavailable("the connection broke inside the headers");
    return std::move(reception.answer);
  }

 private:
  template <typename Value>
  void Set(CURLoption option, Value value) {
    curl_easy_setopt(easy_, option, value);
  }

  void SetLimits(const TransportOptions& options) {
    Set(CURLOPT_PROTOCOLS_STR, "http,https");
    Set(CURLOPT_FOLLOWLOCATION, 0L);
    Set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
    Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    Set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    Set(CURLOPT_SSL_VERIFYPEER, 1L);
    Set(CURLOPT_SSL_VERIFYHOST, 2L);
    if (!options.ca_file.empty()) Set(CURLOPT_CAINFO, options.ca_file.c_str());
    if (!options.uses_proxy) Set(CURLOPT_PROXY, "");
    Set(CURLOPT_NOSIGNAL, 1L);
    Set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect.count()));
    Set(CURLOPT_TIMEOUT_MS, static_cast<long>(options.total.count()));
    Set(CURLOPT_LOW_SPEED_LIMIT, 1024L);
    Set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.silence.count()));
    Set(CURLOPT_USERAGENT, "gp");
  }

  void SetRequest(const HttpRequest& request, const curl_slist* headers) {
    Set(CURLOPT_URL, request.url.c_str());
    Set(CURLOPT_PATH_AS_IS, 1L);  // the path is signed as it is
    Set(CURLOPT_HTTPHEADER, headers);
    if (request.method == "HEAD") {
      Set(CURLOPT_NOBODY, 1L);
    } else if (request.method == "GET") {
      Set(CURLOPT_HTTPGET, 1L);
    } else {
      Set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
      if (request.method == "DELETE") return;
      Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      Set(CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());  // not copied
    }
  }

  void SetReception(Reception& reception) {
    Set(CURLOPT_WRITEFUNCTION, &KeepBody);
    Set(CURLOPT_WRITEDATA, &reception);
    Set(CURLOPT_HEADERFUNCTION, &KeepHeader);
    Set(CURLOPT_HEADERDATA, &reception);
    Set(CURLOPT_ERRORBUFFER, details_);
  }

  Status ErrorOf(CURLcode code, const TransportOptions& options) const {
    const std::string why =
        Excerpt(*details_ != '\0' ? details_ : curl_easy_strerror(code), kExcerptCharactersMax);
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
      return FailedPrecondition("{}; authorities are read from {}", why,
                                options.ca_file.empty() ? "the system" : options.ca_file);
    }
    if (IsHopeless(code)) return FailedPrecondition("{}", why);
    if (code == CURLE_OPERATION_TIMEDOUT) return DeadlineExceeded("{}", why);
    return Unavailable("{}", why);
  }

  CURL* const easy_;
  char details_[CURL_ERROR_SIZE] = "";
};

std::string_view HttpAnswer::HeaderValue(std::string_view name) const {
  for (const Header& header : headers) {
    if (header.name == name) return header.value;
  }
  return {};
}

HttpTransport::HttpTransport(TransportOptions options) : options_(std::move(options)) {
  InitCurl();
}

HttpTransport::~HttpTransport() = default;

std::unique_ptr<HttpTransport::Connection> HttpTransport::Take() const {
  {
    const MutexLock lock(mutex_);
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return std::make_unique<Connection>();
}

void HttpTransport::GiveBack(std::unique_ptr<Connection> connection) const {
  const MutexLock lock(mutex_);
  if (idle_.size() < kIdleMax) idle_.push_back(std::move(connection));
}

StatusOr<HttpAnswer> HttpTransport::Perform(const HttpRequest& request) const {
  auto connection = Take();
  if (!connection->valid()) return ResourceExhausted("not enough memory for a request");
  auto answer = connection->Perform(request, options_);
  if (answer.ok()) GiveBack(std::move(connection));
  return answer;
}

}  // namespace gp::object
