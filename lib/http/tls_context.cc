#include "http/tls_context.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <utility>

#include "base/file.h"
#include "base/log.h"

namespace gp::http {
namespace {

namespace asio = boost::asio;
using Error = boost::system::error_code;

constexpr size_t kPemBytesMax = 1 << 20;

struct PemTexts {
  std::string certificate;
  std::string key;
};

StatusOr<PemTexts> ReadTexts(const TlsFiles& files) {
  const auto certificate = ReadFile(files.certificate, kPemBytesMax);
  if (!certificate.ok()) return WithContext(certificate.status(), "tls.certificate");
  // A file that holds both is read once, so that a key is never paired with another certificate.
  if (files.key == files.certificate) return PemTexts{*certificate, *certificate};
  const auto key = ReadFile(files.key, kPemBytesMax);
  if (!key.ok()) return WithContext(key.status(), "tls.key");
  return PemTexts{*certificate, *key};
}

StatusOr<std::shared_ptr<asio::ssl::context>> MakeContext(const TlsFiles& files,
                                                          const PemTexts& texts) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  context->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                       asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                       asio::ssl::context::no_tlsv1_1);
  if (files.newest_only) context->set_options(asio::ssl::context::no_tlsv1_2);
  Error error;
  context->use_certificate_chain(asio::buffer(texts.certificate), error);
  if (error) return InvalidArgument("tls.certificate {}: {}", files.certificate, error.message());
  context->use_private_key(asio::buffer(texts.key), asio::ssl::context::pem, error);
  if (error) return InvalidArgument("tls.key {}: {}", files.key, error.message());
  if (SSL_CTX_check_private_key(context->native_handle()) != 1) {
    return InvalidArgument("tls.key {} is not the key of {}", files.key, files.certificate);
  }
  return context;
}

}  // namespace

StatusOr<std::shared_ptr<TlsContext>> TlsContext::Read(const TlsFiles& files) {
  std::shared_ptr<TlsContext> made(new TlsContext(files));
  RETURN_IF_ERROR(made->Reread());
  return made;
}

Status TlsContext::Reread() {
  ASSIGN_OR_RETURN(const PemTexts texts, ReadTexts(files_));
  const std::string text = texts.certificate + texts.key;
  {
    MutexLock lock(mutex_);
    if (text == text_) return OkStatus();
  }
  ASSIGN_OR_RETURN(auto context, MakeContext(files_, texts));
  MutexLock lock(mutex_);
  if (current_ != nullptr) LogInfo("certificate reloaded", {{"file", files_.certificate}});
  text_ = text;
  current_ = std::move(context);
  return OkStatus();
}

std::shared_ptr<asio::ssl::context> TlsContext::current() const {
  MutexLock lock(mutex_);
  return current_;
}

struct CertificateWatch::Look {
  std::shared_ptr<TlsContext> tls;
  bool under_way = false;
  std::string problem;  // at the last check
  Status status;        // at this check
};

CertificateWatch::CertificateWatch(const std::shared_ptr<TlsContext>& tls, EventLoop& loop,
                                   OffloadPool& pool, std::chrono::nanoseconds period)
    : look_(std::make_shared<Look>(Look{.tls = tls})),
      timer_(loop.Every(period, [look = look_, &pool] {
        if (look->under_way) return;
        const auto done = [look] {
          look->under_way = false;
          const std::string problem = Message(look->status);
          if (!problem.empty() && problem != look->problem) {
            LogWarning("cannot reload the certificate; the previous one stays in use",
                       {{"error", problem}});
          }
          look->problem = problem;
        };
        look->under_way = pool.Submit([look] { look->status = look->tls->Reread(); }, done);
      })) {}

}  // namespace gp::http
