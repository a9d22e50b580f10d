#include "worker/engine/collectives/secure_channel.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "worker/engine/collectives/socket.h"

namespace gp::engine {
namespace {

constexpr const char* kCipher = "TLS_AES_128_GCM_SHA256";
constexpr std::array<unsigned char, 2> kCipherNumber = {0x13, 0x01};
// There is one key per connection, so its name carries no information.
constexpr std::string_view kKeyName = "gp";
// The most that one call moves, so that no connection delays the others.
constexpr size_t kBytesPerCall = size_t{1} << 20;
// The most bytes read from the kernel at once: several TLS records.
constexpr size_t kReadBufferBytes = size_t{128} << 10;

std::string OpenSslReason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason given" : reason;
}

// Called before each OpenSSL call, because SSL_get_error also reports errors left by earlier calls.
void ForgetErrors() {
  ERR_clear_error();
  errno = 0;
}

void Require(bool done, const char* what) {
  if (!done) throw CollectiveError(std::string(what) + ": " + OpenSslReason());
}

// The functions below make a BIO of a socket. OpenSSL's own socket BIO would raise SIGPIPE.

int DescriptorOf(BIO* bio) {
  return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
}

bool IsTransient(ssize_t count) {
  return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

int WriteSocket(BIO* bio, const char* bytes, size_t size, size_t* written) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = send(DescriptorOf(bio), bytes, size, MSG_NOSIGNAL);
  if (IsTransient(count)) BIO_set_retry_write(bio);
  *written = count > 0 ? static_cast<size_t>(count) : 0;
  return count > 0 ? 1 : 0;
}

int ReadSocket(BIO* bio, char* bytes, size_t size, size_t* read) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = recv(DescriptorOf(bio), bytes, size, 0);
  if (IsTransient(count)) BIO_set_retry_read(bio);
  if (count == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  *read = count > 0 ? static_cast<size_t>(count) : 0;
  return count > 0 ? 1 : 0;
}

long ControlSocket(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* MakeSocketMethod() {
  BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "rank");
  Require(method != nullptr && BIO_meth_set_write_ex(method, WriteSocket) == 1 &&
              BIO_meth_set_read_ex(method, ReadSocket) == 1 &&
              BIO_meth_set_ctrl(method, ControlSocket) == 1,
          "OpenSSL did not accept the socket");
  return method;
}

BIO* SocketBio(int fd) {
  static BIO_METHOD* const method = MakeSocketMethod();
  BIO* bio = BIO_new(method);
  Require(bio != nullptr, "OpenSSL did not accept the socket");
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
  BIO_set_init(bio, 1);
  return bio;
}

// The key in the form that OpenSSL wants: a session that can be resumed.
SSL_SESSION* SessionOf(SSL* tls) {
  const auto* key = static_cast<const ChannelKey*>(SSL_get_app_data(tls));
  SSL_SESSION* session = SSL_SESSION_new();
  const SSL_CIPHER* cipher = SSL_CIPHER_find(tls, kCipherNumber.data());
  const bool made =
      session != nullptr && cipher != nullptr &&
      SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key->data()),
                                  key->size()) == 1 &&
      SSL_SESSION_set_cipher(session, cipher) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
  if (made) return session;
  SSL_SESSION_free(session);
  return nullptr;
}

int OfferKey(SSL* tls, const EVP_MD*, const unsigned char** name, size_t* size,
             SSL_SESSION** session) {
  *name = reinterpret_cast<const unsigned char*>(kKeyName.data());
  *size = kKeyName.size();
  *session = SessionOf(tls);
  return *session != nullptr ? 1 : 0;
}

int FindKey(SSL* tls, const unsigned char* name, size_t size, SSL_SESSION** session) {
  const bool known = std::string_view(reinterpret_cast<const char*>(name), size) == kKeyName;
  *session = known ? SessionOf(tls) : nullptr;
  return 1;  // without a session the handshake fails: there is no certificate
}

void Configure(SSL_CTX* context) {
  Require(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
              SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
              SSL_CTX_set_ciphersuites(context, kCipher) == 1 &&
              SSL_CTX_set_num_tickets(context, 0) == 1,
          "OpenSSL has no TLS 1.3 with AES-128-GCM");
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);  // every collective knows its size
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadBufferBytes);
  SSL_CTX_set_psk_use_session_callback(context, OfferKey);
  SSL_CTX_set_psk_find_session_callback(context, FindKey);
}

}  // namespace

SecureChannel::SecureChannel(int fd, Side side, const ChannelKey& key, SteadyTime deadline,
                             const std::stop_token& stop)
    : key_(key), context_(SSL_CTX_new(TLS_method()), SSL_CTX_free), tls_(nullptr, SSL_free) {
  ForgetErrors();
  Require(context_ != nullptr, "OpenSSL has no TLS");
  Configure(context_.get());
  tls_.reset(SSL_new(context_.get()));
  Require(tls_ != nullptr && SSL_set_app_data(tls_.get(), &key_) == 1, "OpenSSL has no TLS");
  BIO* bio = SocketBio(fd);
  SSL_set_bio(tls_.get(), bio, bio);
  if (side == Side::kCaller) {
    SSL_set_verify(tls_.get(), SSL_VERIFY_PEER, nullptr);  // accepts no certificate
    SSL_set_connect_state(tls_.get());
  } else {
    SSL_set_accept_state(tls_.get());
  }
  Shake(fd, deadline, stop);
}

SecureChannel::~SecureChannel() { OPENSSL_cleanse(key_.data(), key_.size()); }

void SecureChannel::Shake(int fd, SteadyTime deadline, const std::stop_token& stop) {
  while (true) {
    ForgetErrors();
    const int result = SSL_do_handshake(tls_.get());
    if (result == 1) break;
    const std::string why = WhyNot(result);
    if (!why.empty()) throw CollectiveError("encryption did not start: " + why);
    const short event = SSL_want_write(tls_.get()) ? POLLOUT : POLLIN;
    if (!WaitReady(fd, event, deadline, stop)) {
      throw CollectiveError("encryption did not start: the peer did not answer in time");
    }
  }
  Require(SSL_session_reused(tls_.get()) == 1, "encryption started without the key of the epoch");
  holds_more_ = true;  // data that the peer sent after its last handshake message
}

std::string SecureChannel::WhyNot(int result) const {
  const int error = errno;
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return "";
    case SSL_ERROR_ZERO_RETURN:
      return "it closed the connection";
    case SSL_ERROR_SYSCALL:
      return error == 0 ? "it closed the connection" : std::strerror(error);
    default:
      return "what arrived is not what the peer encrypted (" + OpenSslReason() +
             "): it was changed in transit, or the peer has another key";
  }
}

// If bytes have moved, reports only them; the next call reports the reason.
Moved SecureChannel::Stopped(int result, Moved moved) {
  lost_ = WhyNot(result);
  if (moved.bytes == 0) moved.lost = lost_;
  return moved;
}

void SecureChannel::ChangeKeyWhenDue() {
  if (record_waits_ || bytes_with_key_ < kBytesPerKey) return;
  bytes_with_key_ = 0;
  Require(SSL_key_update(tls_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1, "cannot change the key");
}

Moved SecureChannel::Send(std::span<const iovec> pieces) {
  Moved moved{.lost = lost_};
  if (!lost_.empty()) return moved;
  ChangeKeyWhenDue();
  for (const iovec& piece : pieces) {
    for (size_t done = 0; done < piece.iov_len;) {
      if (moved.bytes >= kBytesPerCall) return moved;
      size_t count = 0;
      ForgetErrors();
      const int result =
          SSL_write_ex(tls_.get(), static_cast<const std::byte*>(piece.iov_base) + done,
                       piece.iov_len - done, &count);
      record_waits_ = result != 1;
      if (result != 1) return Stopped(result, moved);
      done += count;
      moved.bytes += count;
      bytes_with_key_ += count;
    }
  }
  return moved;
}

Moved SecureChannel::Receive(std::span<const iovec> pieces) {
  Moved moved{.lost = lost_};
  if (!lost_.empty()) return moved;
  for (const iovec& piece : pieces) {
    for (size_t done = 0; done < piece.iov_len;) {
      holds_more_ = true;
      if (moved.bytes >= kBytesPerCall) return moved;
      size_t count = 0;
      ForgetErrors();
      const int result = SSL_read_ex(tls_.get(), static_cast<std::byte*>(piece.iov_base) + done,
                                     piece.iov_len - done, &count);
      if (result != 1) {
        moved = Stopped(result, moved);
        holds_more_ = !lost_.empty();
        return moved;
      }
      done += count;
      moved.bytes += count;
    }
  }
  return moved;
}

}  // namespace gp::engine
