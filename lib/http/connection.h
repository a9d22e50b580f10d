// Connection: the connection to one client. It reads requests one after another, passes each to its
// route's handler, and writes the answers. Owned by the server's list of connections and by its own
// pending operations; used in the loop.
#pragma once

#include <array>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "http/byte_budget.h"
#include "http/exchange.h"
#include "http/server_options.h"
#include "http/transport.h"

namespace gp::http {

// State shared by the connections of a server.
struct ServerState {
  explicit ServerState(ServerContext shared)
      : context(std::move(shared)),
        budget(std::make_shared<ByteBudget>(context.limits.held_bytes_max)) {}

  const ServerContext context;
  const std::shared_ptr<ByteBudget> budget;
  bool draining = false;
};

class Connection : public AnswerSink, public std::enable_shared_from_this<Connection> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Connection(std::shared_ptr<ServerState> server, std::unique_ptr<Transport> transport,
             std::string client);

  void Start();
  // Refuses the client: too many are connected.
  void Refuse();
  // Called every tick: enforces the timeouts and sends a ping on a quiet stream.
  void Tick(Time now);
  // Closes the connection: at once if no byte of a request has arrived, otherwise after the answer.
  void Drain();
  // Closes the connection at once; later answers are dropped.
  void Close();
  bool closed() const { return phase_ == Phase::kClosed; }

  // What a connection's place is used for. When all places are taken, a new client replaces the
  // connection with the lowest use up to kUnread, and among equals the one that has had this use
  // for longest. If all are kAnswering, the new client is refused. kLeaving takes no place.
  // kUnread: the client has read nothing of its answer for a second.
  enum class Use { kNoRequestYet, kIdle, kReceiving, kUnread, kAnswering, kLeaving };
  Use use() const;
  Time used_since() const;
  // Ends the connection because its place goes to another client.
  void GiveUpPlace();

  void Answer(Response response) override;
  void BeginStream(Headers headers) override;
  void SendPiece(std::string_view text) override;
  void EndStream(bool cut) override;
  size_t unsent_bytes() const override { return output_.size() + writing_.size() - written_; }

 private:
  // kGreeting -> kIdle -> kHeader -> kBody -> kHandling -> (kStreaming ->) kIdle
  // every phase -> kLastAnswer (being written) -> kLingering (reads what still comes) -> kClosed
  enum class Phase {
    kGreeting,
    kIdle,
    kHeader,
    kBody,
    kHandling,
    kStreaming,
    kLastAnswer,
    kLingering,
    kClosed
  };
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void Enter(Phase phase);
  void NoteProgress(Time now);
  void Read();
  void OnRead(bool ok, size_t bytes);
  // Parses requests from the input until more bytes are needed or an answer must be written first.
  void Advance();
  bool AdvanceOnce();
  bool BeginRequest();
  // `body_is_long`: the Content-Length is above the limit.
  void OnHeader(bool body_is_long);
  void Dispatch();
  Request TakeRequest();
  void RefuseInput(const ApiError& error);
  void TakeReceived();

  void AppendHead(const Response& response, std::optional<size_t> length);
  void AppendCors(std::string& out) const;
  void Finish();
  void AfterAnswer();
  void Flush();
  void OnWritten(bool ok, size_t bytes);
  // Takes no more requests and ends the connection once the answer is written.
  void EndAfterAnswer();
  void Linger();
  // The client left, or the server drops it: closes the connection and raises the GoneSignal.
  void Leave();

  const std::shared_ptr<ServerState> shared_;
  ServerState& server_;
  const std::unique_ptr<Transport> transport_;
  const std::string client_;
  const Time begun_ = std::chrono::steady_clock::now();
  Phase phase_ = Phase::kGreeting;
  Time since_ = std::chrono::steady_clock::now();     // when the phase began
  Time progress_ = std::chrono::steady_clock::now();  // when the client last took bytes
  size_t queued_bytes_ = 0;                           // in the kernel's send queue at the last tick

  std::array<char, 8192> buffer_;
  std::string input_;  // read but not parsed yet
  bool reading_ = false;
  bool no_more_input_ = false;
  size_t lingered_bytes_ = 0;

  std::string output_;   // to be written next
  std::string writing_;  // being written, piece by piece
  size_t written_ = 0;   // bytes of writing_ that the kernel has
  bool write_under_way_ = false;
  ByteBudget::Share unsent_share_;
  bool served_ = false;  // a request was read

  // ---- the current request
  std::optional<Parser> parser_;
  ByteBudget::Share body_share_;
  std::string header_text_;  // the bytes of the header that the parser has consumed
  bool header_seen_ = false;
  bool keep_alive_ = true;
  bool chunked_ = false;
  bool http_1_0_ = false;
  std::optional<Response> refusal_;
  const Route* route_ = nullptr;
  Request request_;
  ExchangeRecord record_;
  std::shared_ptr<GoneSignal> gone_;
  std::shared_ptr<ExchangeNotes> notes_;
  std::string origin_;  // the request's Origin, if it may use the server; else empty
  uint64_t written_bytes_ = 0;
};

}  // namespace gp::http
