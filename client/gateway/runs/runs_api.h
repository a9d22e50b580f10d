// RunsApi: /api/v1 of the pages: runs, workers, points, and the event stream that keeps a page up
// to date. It owns the RunBoard. How the daemon uses it:
//
//   RunsApi runs(loop, {.board = {.address = settings.coordinator}});  // empty: no coordinator
//   runs.AddTo(router);                                       // before the server starts
//   runs.OnSealed([&](const std::vector<ServedRun>& runs, bool complete) { … });  // for models
//
// OnSealed's callback is called in the loop after the first survey, and whenever a survey found
// that checkpoints were sealed, quarantined or deleted (deleted ones are found later, because there
// is no event); not while the coordinator is away. Not `complete`: runs are missing, and another
// call follows. Made and used in the loop's thread or before it runs; destroyed after the loop has
// ended or in it, and before the loop.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/gateway/models/served_checkpoint.h"
#include "client/gateway/runs/run_board.h"
#include "http/event_loop.h"
#include "http/exchange.h"
#include "http/router.h"

namespace gp::gateway {

struct RunsApiOptions {
  RunBoardOptions board;
  // Time between two messages of a stream; changes in between are merged.
  std::chrono::milliseconds stream_period{500};
  // How long a request waits for the history of a run that no page has shown before.
  std::chrono::milliseconds patience = std::chrono::seconds(10);
  // Event streams. One client may have at most as many as are still free; more are refused with
  // 429.
  size_t streams_max = 1000;
  // The model names of a run, from the Catalogue. Called in the loop.
  std::function<RunModels(const std::string& run_id)> models = [](const auto&) {
    return RunModels();
  };
};

class RunsApi {
 public:
  RunsApi(http::EventLoop& loop, RunsApiOptions options);
  ~RunsApi();

  void AddTo(http::Router& router);
  using Sealed = std::function<void(const std::vector<ServedRun>& runs, bool complete)>;
  void OnSealed(Sealed call);
  // Calls `then` in the loop with any run of the coordinator, by id or name; at once if it is on
  // the board. Unavailable while the coordinator is away.
  void Describe(const std::string& reference, std::function<void(const StatusOr<v1::Run>&)> then);
  // Ends all event streams. Without this Server::Drain would wait for the open pages.
  void EndStreams();
  const RunBoard& board() const { return board_; }

 private:
  using Exchanged = std::shared_ptr<http::Exchange>;
  using SharedText = std::shared_ptr<const std::string>;
  using Answerer = std::function<void(const Exchanged&, const std::string& run_id)>;
  using Opener = std::function<void(const std::string& run_id)>;
  // A connected page, and what it was last sent.
  struct Page {
    std::shared_ptr<http::EventStream> stream;
    std::string run_id;  // empty: no run
    std::string asker;   // the client
    std::optional<uint64_t> runs_version;
    std::optional<uint64_t> workers_version;
    std::shared_ptr<const RunDetails> details;
    RunModels models;
    std::optional<uint32_t> points;  // PointSeries::appended at the last message
  };
  // A request that waits for the history of its run.
  struct Waiting {
    Exchanged exchange;
    std::string run_id;
    std::chrono::steady_clock::time_point deadline;
    Answerer answer;
  };

  void Answer(const Exchanged& exchange, const SharedText& text);
  void AnswerRuns(const Exchanged& exchange);
  void AnswerDifferences(const Exchanged& exchange);
  void AnswerSweeps(const Exchanged& exchange);
  void AnswerSweep(const Exchanged& exchange);
  // Responds, in the loop, with the text or the error that another thread has.
  // `code`: of the error when the coordinator does not know what was asked for.
  std::function<void(const StatusOr<SharedText>&)> Responder(const Exchanged& exchange,
                                                             const char* code);
  // Calls `found` with the id of the run that `reference` names, once it is on the board; asks the
  // coordinator if necessary. Responds with an error when no run has that name.
  void Find(const Exchanged& exchange, const std::string& reference, Opener found);
  // Calls `then` in the loop, with what the coordinator answers, while this object exists.
  template <typename Message>
  std::function<void(const StatusOr<Message>&)> InLoop(
      std::function<void(const StatusOr<Message>&)> then);
  // Calls `answer` when the details of the run in the path are known.
  void WhenKnown(const Exchanged& exchange, Answerer answer);
  void AnswerRun(const Exchanged& exchange, const std::string& run_id);
  void AnswerPoints(const Exchanged& exchange, const std::string& run_id);
  void AwaitDetails(const Exchanged& exchange, const std::string& run_id, const Answerer& answer);
  void BeginStream(const Exchanged& exchange);
  void OpenPage(const Exchanged& exchange, const std::string& run_id);
  std::optional<http::ApiError> CheckStreams(const std::string& asker);
  void HandleChange();
  void AnswerWaiting();
  void Tick();
  void Tell(Page& page);
  void TellPoints(Page& page);
  void StartPoints();

  http::EventLoop& loop_;
  const RunsApiOptions options_;
  Sealed on_sealed_;
  uint64_t sealed_version_ = 0;
  std::list<Page> pages_;
  std::vector<Waiting> waiting_;
  std::unique_ptr<http::Timer> ticks_;
  // Posted calls do nothing after this object is destroyed.
  const std::shared_ptr<RunsApi*> self_;
  RunBoard board_;  // last, so destroyed first: its threads use the other members
};

}  // namespace gp::gateway
