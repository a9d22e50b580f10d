#include "bench/peer_bench/idle_streams.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <list>
#include <string_view>

namespace gp::engine {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kAnswerMax(30);

// One event stream. It counts as answered when the first read ends, and is open from an answer with
// status 200 until its end.
class IdleStream {
 public:
  IdleStream(asio::io_context& io, int64_t& answered) : socket_(io), answered_(answered) {}

  Status Begin(const IdleStreams& streams) {
    boost::system::error_code error;
    socket_.connect({asio::ip::address_v4::loopback(), streams.port}, error);
    const std::string request = fmt::format(
        "GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n", streams.path);
    if (!error) asio::write(socket_, asio::buffer(request), error);
    if (error) return Unavailable("cannot open an idle stream: {}", error.message());
    Read();
    return OkStatus();
  }

  bool open() const { return is_open_; }

 private:
  void Read() {
    socket_.async_read_some(asio::buffer(chunk_), [this](boost::system::error_code error,
                                                         size_t size) {
      is_open_ =
          !error && (is_open_ || std::string_view(chunk_.data(), size).starts_with("HTTP/1.1 200"));
      if (!has_answer_) ++answered_;
      has_answer_ = true;
      if (is_open_) Read();
    });
  }

  asio::ip::tcp::socket socket_;
  int64_t& answered_;
  std::array<char, 4096> chunk_{};
  bool is_open_ = false;
  bool has_answer_ = false;
};

}  // namespace

StatusOr<IdleOutcome> HoldIdleStreams(const IdleStreams& streams,
                                      const std::function<int64_t()>& server_bytes) {
  asio::io_context io;
  int64_t answered = 0;
  std::list<IdleStream> open;
  IdleOutcome outcome{.bytes_before = server_bytes()};
  for (int64_t i = 0; i < streams.count; ++i) {
    RETURN_IF_ERROR(open.emplace_back(io, answered).Begin(streams));
    io.poll();
  }
  const auto deadline = std::chrono::steady_clock::now() + kAnswerMax;
  while (answered < streams.count && std::chrono::steady_clock::now() < deadline) {
    io.run_one_for(std::chrono::seconds(1));
  }
  outcome.bytes_begin = server_bytes();
  io.run_for(streams.held);
  outcome.bytes_end = server_bytes();
  for (const IdleStream& stream : open) outcome.open_at_end += stream.open() ? 1 : 0;
  return outcome;
}

}  // namespace gp::engine
