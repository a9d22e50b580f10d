// Transport: the bytes of one connection, with or without TLS. Used by its connection, in the loop.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/tls_context.h"

namespace gp::http {

class Transport {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  // `ok` is false once the connection is closed.
  using Done = std::function<void(bool ok, size_t bytes)>;

  // `tls` may be absent.
  static std::unique_ptr<Transport> Make(Socket socket, const TlsContext* tls);
  virtual ~Transport() = default;

  virtual void Handshake(Done done) = 0;
  // At most one Read and one Write may be in progress at a time. Their buffers must live until they
  // are done.
  virtual void Read(char* buffer, size_t size, Done done) = 0;
  virtual void Write(std::string_view bytes, Done done) = 0;  // writes all bytes
  // Bytes in the kernel's send queue, which the client's machine has not acknowledged.
  virtual size_t QueuedBytes() = 0;
  // Nothing more will be written; input may still be read.
  virtual void EndWriting() = 0;
  virtual void Close() = 0;
};

}  // namespace gp::http
