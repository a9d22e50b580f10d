#include "http/transport.h"

#include <linux/sockios.h>
#include <openssl/err.h>
#include <sys/ioctl.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace gp::http {
namespace {

namespace asio = boost::asio;
using Error = boost::system::error_code;

auto Adapt(Transport::Done done) {
  return [done = std::move(done)](const Error& error, size_t bytes) { done(!error, bytes); };
}

size_t QueuedBytesOf(Transport::Socket& socket) {
  int bytes = 0;
  return ioctl(socket.native_handle(), SIOCOUTQ, &bytes) == 0 ? static_cast<size_t>(bytes) : 0;
}

class PlainTransport : public Transport {
 public:
  explicit PlainTransport(Socket socket) : socket_(std::move(socket)) {}

  void Handshake(Done done) override { done(true, 0); }
  void Read(char* buffer, size_t size, Done done) override {
    socket_.async_read_some(asio::buffer(buffer, size), Adapt(std::move(done)));
  }
  void Write(std::string_view bytes, Done done) override {
    asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()), Adapt(std::move(done)));
  }
  size_t QueuedBytes() override { return QueuedBytesOf(socket_); }
  void EndWriting() override {
    Error ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }
  void Close() override {
    Error ignored;
    socket_.close(ignored);
  }

 private:
  Socket socket_;
};

class TlsTransport : public Transport {
 public:
  // `context` need not outlive this: OpenSSL holds a reference to its SSL_CTX.
  TlsTransport(Socket socket, asio::ssl::context& context) : stream_(std::move(socket), context) {}

  void Handshake(Done done) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [done = std::move(done)](const Error& error) { done(!error, 0); });
  }
  void Read(char* buffer, size_t size, Done done) override {
    stream_.async_read_some(asio::buffer(buffer, size), Adapt(std::move(done)));
  }
  void Write(std::string_view bytes, Done done) override {
    asio::async_write(stream_, asio::buffer(bytes.data(), bytes.size()), Adapt(std::move(done)));
  }
  size_t QueuedBytes() override { return QueuedBytesOf(stream_.next_layer()); }
  // The client knows the length of every answer, so it needs no close_notify.
  void EndWriting() override {
    Error ignored;
    stream_.next_layer().shutdown(Socket::shutdown_send, ignored);
  }
  void Close() override {
    Error ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  asio::ssl::stream<Socket> stream_;
};

}  // namespace

std::unique_ptr<Transport> Transport::Make(Socket socket, const TlsContext* tls) {
  if (tls == nullptr) return std::make_unique<PlainTransport>(std::move(socket));
  return std::make_unique<TlsTransport>(std::move(socket), *tls->current());
}

}  // namespace gp::http
