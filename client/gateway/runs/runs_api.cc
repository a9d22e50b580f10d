#include "client/gateway/runs/runs_api.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "client/gateway/runs/runs_json.h"

namespace gp::gateway {
namespace {

using std::chrono::steady_clock;

constexpr size_t kPointsUsual = 1000;
constexpr int64_t kPointsMin = 50;
constexpr int64_t kPointsMax = 5000;
// New points in one message; more of them are decimated.
constexpr size_t kNewPointsMax = 2000;
// A page that has this much left to read is told nothing more until it has read some; then it gets
// the newest state. A page that takes nothing for the server's write_timeout is cut.
constexpr size_t kBacklogBytesMax = 256 << 10;

http::ApiError UnknownRun(const Board& board, std::string_view reference) {
  if (!board.surveyed) {
    return {.status = 503, .message = board.message, .code = "no_coordinator", .retry_after = 2};
  }
  return {.status = 404,
          .message = fmt::format("there is no run '{}' among the newest {}", reference,
                                 RunSurvey::kBoardRuns),
          .code = "run_not_found"};
}

// The number behind `name`, `usual` when it is absent.
StatusOr<int64_t> NumberOf(const http::Request& request, const char* name, int64_t usual) {
  const auto text = request.Parameter(name);
  if (!text) return usual;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error == std::errc() && end == text->data() + text->size()) return value;
  return InvalidArgument("{}: expected a whole number, not '{}'", name, *text);
}

StatusOr<PointRange> RangeOf(const http::Request& request) {
  PointRange range;
  ASSIGN_OR_RETURN(range.from, NumberOf(request, "from", range.from));
  ASSIGN_OR_RETURN(range.to, NumberOf(request, "to", range.to));
  ASSIGN_OR_RETURN(const int64_t count, NumberOf(request, "points", kPointsUsual));
  range.count_max = static_cast<size_t>(std::clamp(count, kPointsMin, kPointsMax));
  return range;
}

// A document with "type" in front of its first field.
std::string Typed(const char* type, const std::string& document) {
  return fmt::format("{{\"type\":\"{}\",{}", type, std::string_view(document).substr(1));
}

bool KeepsUp(const http::EventStream& stream) { return stream.unsent_bytes() < kBacklogBytesMax; }

std::shared_ptr<const RunDetails> DetailsOf(const Board& board, const std::string& run_id) {
  const auto found = board.details.find(run_id);
  return found == board.details.end() ? nullptr : found->second;
}

}  // namespace

RunsApi::RunsApi(http::EventLoop& loop, RunsApiOptions options)
    : loop_(loop),
      options_(std::move(options)),
      self_(std::make_shared<RunsApi*>(this)),
      board_(options_.board, [&loop, weak = std::weak_ptr<RunsApi*>(self_)] {
        loop.Post([weak] {
          if (const auto self = weak.lock()) (*self)->TakeChange();
        });
      }) {
  ticks_ = loop_.Every(options_.stream_period, [this] { Tick(); });
}

RunsApi::~RunsApi() = default;

void RunsApi::AddTo(http::Router& router) {
  router.Add({"GET", "/api/v1/runs",
              [this](const Exchanged& exchange) { Answer(exchange, board_.board()->runs_text); }});
  router.Add({"GET", "/api/v1/workers", [this](const Exchanged& exchange) {
                Answer(exchange, board_.board()->workers_text);
              }});
  router.Add({"GET", "/api/v1/runs/{id}", [this](const Exchanged& exchange) {
                WhenKnown(exchange, std::bind_front(&RunsApi::AnswerRun, this));
              }});
  router.Add({"GET", "/api/v1/runs/{id}/points", [this](const Exchanged& exchange) {
                WhenKnown(exchange, std::bind_front(&RunsApi::AnswerPoints, this));
              }});
  router.Add(
      {"GET", "/api/v1/events", [this](const Exchanged& exchange) { BeginStream(exchange); }});
}

void RunsApi::OnSealed(std::function<void(const std::vector<SealedRun>&)> call) {
  on_sealed_ = std::move(call);
  sealed_version_ = board_.board()->sealed_version;
  on_sealed_(board_.board()->sealed);
}

void RunsApi::Answer(const Exchanged& exchange, const std::shared_ptr<const std::string>& text) {
  exchange->Respond(http::Response{.body = *text, .headers = {{"cache-control", "no-store"}}});
}

void RunsApi::WhenKnown(const Exchanged& exchange, Answerer answer) {
  StartPoints();
  const auto board = board_.board();
  const std::string reference(exchange->request().Capture("id"));
  const v1::Run* run = FindRun(*board, reference);
  if (run == nullptr) return exchange->Respond(UnknownRun(*board, reference));
  board_.LookAt(run->run_id());
  if (DetailsOf(*board, run->run_id()) != nullptr) {
    return answer(exchange, run->run_id());
  }
  waiting_.push_back(
      {exchange, run->run_id(), steady_clock::now() + options_.patience, std::move(answer)});
}

void RunsApi::AnswerWaiting() {
  StartPoints();
  const auto board = board_.board();
  std::vector<Waiting> ready;
  std::erase_if(waiting_, [&](Waiting& waiting) {
    const bool late = steady_clock::now() >= waiting.deadline;
    if (!late && !waiting.exchange->gone() && DetailsOf(*board, waiting.run_id) == nullptr) {
      return false;
    }
    ready.push_back(std::move(waiting));
    return true;
  });
  for (const Waiting& waiting : ready) {
    if (DetailsOf(*board, waiting.run_id) != nullptr) {
      waiting.answer(waiting.exchange, waiting.run_id);
    } else {
      waiting.exchange->Respond(
          http::ApiError{.status = 503,
                         .message = board->connected ? "the coordinator has not told the past "
                                                       "of this run yet"
                                                     : board->message,
                         .code = "no_coordinator",
                         .retry_after = 2});
    }
  }
}

void RunsApi::AnswerRun(const Exchanged& exchange, const std::string& run_id) {
  const auto board = board_.board();
  const auto details = DetailsOf(*board, run_id);
  if (details == nullptr) return exchange->Respond(UnknownRun(*board, run_id));
  Answer(exchange, std::make_shared<const std::string>(Text(RunDocument(*board, *details))));
}

void RunsApi::AnswerPoints(const Exchanged& exchange, const std::string& run_id) {
  const auto range = RangeOf(exchange->request());
  if (!range.ok()) return exchange->Respond(http::ErrorOf(range.status()));
  const auto points = board_.Points(run_id, *range);
  if (!points) return exchange->Respond(UnknownRun(*board_.board(), run_id));
  Answer(exchange,
         std::make_shared<const std::string>(PointsText(run_id, points->total, points->points)));
}

void RunsApi::BeginStream(const Exchanged& exchange) {
  const auto board = board_.board();
  Page page;
  if (const auto reference = exchange->request().Parameter("run")) {
    const v1::Run* run = FindRun(*board, std::string(*reference));
    if (run == nullptr) return exchange->Respond(UnknownRun(*board, *reference));
    page.run_id = run->run_id();
  }
  if (pages_.size() >= options_.streams_max) {
    return exchange->Respond(http::ApiError{.status = 429,
                                            .message = "too many pages are kept up to date",
                                            .code = "too_many_streams",
                                            .retry_after = 10});
  }
  page.stream = exchange->BeginEventStream();
  Tell(page);
  pages_.push_back(std::move(page));
}

void RunsApi::EndStreams() {
  for (const Page& page : pages_) page.stream->End();
  pages_.clear();
}

void RunsApi::TakeChange() {
  AnswerWaiting();
  const auto board = board_.board();
  if (!on_sealed_ || board->sealed_version == sealed_version_) return;
  sealed_version_ = board->sealed_version;
  on_sealed_(board->sealed);
}

// Tells each page twice a second what has changed: at most one message of each kind, and none while
// the page still has much to read.
void RunsApi::Tick() {
  AnswerWaiting();
  pages_.remove_if([](const Page& page) { return page.stream->gone(); });
  for (Page& page : pages_) Tell(page);
}

void RunsApi::Tell(Page& page) {
  const auto board = board_.board();
  if (KeepsUp(*page.stream) && page.runs_version != board->runs_version) {
    page.runs_version = board->runs_version;
    page.stream->Send(Typed("runs", *board->runs_text));
  }
  if (KeepsUp(*page.stream) && page.workers_version != board->workers_version) {
    page.workers_version = board->workers_version;
    page.stream->Send(Typed("workers", *board->workers_text));
  }
  if (page.run_id.empty()) return;
  board_.LookAt(page.run_id);
  const auto details = DetailsOf(*board, page.run_id);
  if (details == nullptr) return;
  if (KeepsUp(*page.stream) && details != page.details) {
    page.details = details;
    page.stream->Send(MessageText("run", RunDocument(*board, *details)));
  }
  if (KeepsUp(*page.stream)) TellPoints(page);
}

// A page asks for the past itself, and is told what was appended since. So its count begins before
// its question is answered.
void RunsApi::StartPoints() {
  for (Page& page : pages_) {
    if (page.run_id.empty() || page.points) continue;
    const auto now = board_.PointsAfter(page.run_id, std::numeric_limits<uint32_t>::max(), 0);
    if (now) page.points = now->appended;
  }
}

void RunsApi::TellPoints(Page& page) {
  if (!page.points) return;
  const auto points = board_.PointsAfter(page.run_id, *page.points, kNewPointsMax);
  if (!points) return;
  page.points = points->appended;
  if (points->points.empty()) return;
  page.stream->Send(PointsMessageText(page.run_id, points->points));
}

}  // namespace gp::gateway
