#include "client/gateway/runs/runs_api.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <set>
#include <utility>

#include "base/text/excerpt.h"
#include "base/text/nearest_word.h"
#include "client/api/label_filter.h"
#include "client/gateway/runs/runs_json.h"
#include "client/gateway/runs/sweeps_json.h"

namespace gp::gateway {
namespace {

using std::chrono::steady_clock;

// Codes of errors.
constexpr char kNoRun[] = "run_not_found";
constexpr char kNoSweep[] = "sweep_not_found";
constexpr int64_t kListMax = 1000;  // the coordinator's limit for one page
constexpr size_t kComparedMax = 16;
constexpr int64_t kPointsUsual = 1000;
constexpr int64_t kPointsMin = 50;
constexpr int64_t kPointsMax = 5000;
constexpr int64_t kSinceMax = 253402300799;  // the last second of the year 9999
// The most new points in one message; if there are more, they are decimated.
constexpr size_t kNewPointsMax = 2000;
// A page with this many unread bytes is sent nothing until it has read some; then it is sent the
// newest state. A page that reads nothing for the server's write_timeout is disconnected.
constexpr size_t kBacklogBytesMax = 256 << 10;

http::ApiError NoCoordinator(const std::string& why) {
  return {.status = 503, .message = why, .code = "no_coordinator", .retry_after = 2};
}

http::ApiError UnknownRun(const Board& board, std::string_view reference) {
  if (!board.connected && !board.has_all_runs) return NoCoordinator(board.message);
  return {.status = 404,
          .message = fmt::format("run '{}' does not exist; /api/v1/runs lists the runs", reference),
          .code = kNoRun};
}

// The response when the coordinator did not return the run or the sweep; `code` says which.
http::ApiError NotFoundBecause(const Status& status, const char* code) {
  const bool is_unknown =
      status.code() == StatusCode::kNotFound || status.code() == StatusCode::kFailedPrecondition;
  if (!is_unknown) return http::ErrorOf(status);
  return {.status = 404, .message = Message(status), .code = code};
}

Status AddStates(std::string_view words, v1::ListRequest& list) {
  while (!words.empty()) {
    const size_t comma = std::min(words.find(','), words.size());
    std::string name = "RUN_STATE_";
    for (const char c : words.substr(0, comma)) {
      name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    v1::RunState state = v1::RUN_STATE_UNSPECIFIED;
    if (!v1::RunState_Parse(name, &state) || state == v1::RUN_STATE_UNSPECIFIED) {
      return InvalidArgument(
          "state: '{}' is not a run state; expected words such as running,failed",
          Excerpt(words.substr(0, comma)));
    }
    list.add_states(state);
    words.remove_prefix(std::min(comma + 1, words.size()));
  }
  return OkStatus();
}

// The query parameter `name` as a number; `usual` if it is absent.
StatusOr<int64_t> NumberOf(const http::Request& request, const char* name, int64_t usual) {
  const auto text = request.Parameter(name);
  if (!text) return usual;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  const bool is_number = error == std::errc() && end == text->data() + text->size();
  if (is_number && value >= 0) return value;
  return InvalidArgument("{}: expected a whole number of 0 or more, not '{}'", name,
                         Excerpt(*text));
}

// The same, but InvalidArgument unless the number is from `min` to `max`.
StatusOr<int64_t> NumberFrom(const http::Request& request, const char* name, int64_t usual,
                             int64_t min, int64_t max) {
  ASSIGN_OR_RETURN(const int64_t value, NumberOf(request, name, usual));
  if (value >= min && value <= max) return value;
  return InvalidArgument("{}: expected {} to {}, not {}", name, min, max, value);
}

// InvalidArgument for a query parameter that is unknown or empty, or is given twice although it is
// not in `may_repeat`. Otherwise the request would silently ignore it.
Status CheckParameters(const http::Request& request, const std::vector<std::string>& known,
                       const std::set<std::string>& may_repeat = {}) {
  std::set<std::string> seen;
  for (const auto& [name, value] : request.query) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const auto near = NearestWord(name, known);
      return InvalidArgument("unknown parameter '{}'; {}", Excerpt(name),
                             known.empty() ? "this path takes no parameters"
                             : near        ? fmt::format("did you mean '{}'?", *near)
                                           : fmt::format("known are {}", fmt::join(known, ", ")));
    }
    if (value.empty()) return InvalidArgument("{}: expected a value after '='", name);
    if (!seen.insert(name).second && !may_repeat.contains(name)) {
      return InvalidArgument("{}: given more than once", name);
    }
  }
  return OkStatus();
}

StatusOr<v1::ListRequest> ListOf(const http::Request& request) {
  RETURN_IF_ERROR(CheckParameters(
      request, {"limit", "page_token", "state", "label", "user", "namespace", "search", "since"},
      {"state", "label"}));
  v1::ListRequest list;
  list.set_include_finished(true);
  ASSIGN_OR_RETURN(const int64_t limit,
                   NumberFrom(request, "limit", RunSurvey::kBoardRuns, 1, kListMax));
  list.set_limit(static_cast<int>(limit));
  ASSIGN_OR_RETURN(const int64_t since, NumberOf(request, "since", 0));
  if (since > kSinceMax) {
    return InvalidArgument("since: {} seconds since 1970 are after the year 9999; {}", since,
                           "are they milliseconds? divide them by 1000");
  }
  if (since > 0) list.mutable_submitted_since()->set_seconds(since);
  for (const auto& [name, value] : request.query) {
    if (name == "page_token") list.set_page_token(value);
    if (name == "user") list.set_submitted_by(value);
    if (name == "namespace") list.set_namespace_(value);
    if (name == "search") list.set_search(value);
    if (name == "state") RETURN_IF_ERROR(AddStates(value, list));
    if (name == "label") RETURN_IF_ERROR(WithContext(client::AddLabel(value, list), "label"));
  }
  return list;
}

// The runs that are to be compared.
StatusOr<std::vector<std::string>> ComparedOf(const http::Request& request) {
  RETURN_IF_ERROR(CheckParameters(request, {"run"}, {"run"}));
  std::vector<std::string> runs;
  for (const auto& [name, value] : request.query) runs.push_back(value);
  if (runs.size() >= 2 && runs.size() <= kComparedMax) return runs;
  return InvalidArgument("run: expected 2 to {} runs to compare, like run=A&run=B, not {}",
                         kComparedMax, runs.size());
}

StatusOr<PointRange> RangeOf(const http::Request& request) {
  RETURN_IF_ERROR(CheckParameters(request, {"points", "from", "to"}));
  PointRange range;
  ASSIGN_OR_RETURN(range.from, NumberOf(request, "from", range.from));
  ASSIGN_OR_RETURN(range.to, NumberOf(request, "to", range.to));
  if (range.from > range.to) {
    return InvalidArgument("from: step {} is after to, step {}", range.from, range.to);
  }
  ASSIGN_OR_RETURN(const int64_t count,
                   NumberFrom(request, "points", kPointsUsual, kPointsMin, kPointsMax));
  range.count_max = static_cast<size_t>(count);
  return range;
}

// A document with "type" added as its first field.
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
          if (const auto self = weak.lock()) (*self)->HandleChange();
        });
      }) {
  ticks_ = loop_.Every(options_.stream_period, [this] { Tick(); });
}

RunsApi::~RunsApi() = default;

void RunsApi::AddTo(http::Router& router) {
  router.Add({"GET", "/api/v1/runs", [this](const Exchanged& exchange) { AnswerRuns(exchange); }});
  router.Add({"GET", "/api/v1/differences",
              [this](const Exchanged& exchange) { AnswerDifferences(exchange); }});
  router.Add(
      {"GET", "/api/v1/sweeps", [this](const Exchanged& exchange) { AnswerSweeps(exchange); }});
  router.Add({"GET", "/api/v1/sweeps/{name}",
              [this](const Exchanged& exchange) { AnswerSweep(exchange); }});
  router.Add({"GET", "/api/v1/workers", [this](const Exchanged& exchange) {
                if (const Status checked = CheckParameters(exchange->request(), {});
                    !checked.ok()) {
                  return exchange->Respond(http::ErrorOf(checked));
                }
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

void RunsApi::OnSealed(Sealed call) {
  on_sealed_ = std::move(call);
  HandleChange();
}

void RunsApi::Describe(const std::string& reference,
                       std::function<void(const StatusOr<v1::Run>&)> then) {
  const auto board = board_.board();
  if (const v1::Run* run = FindRun(*board, reference)) return then(*run);
  if (!board->connected) return then(Unavailable("{}", board->message));
  board_.questions().Get(reference, InLoop<v1::Run>(std::move(then)));
}

void RunsApi::Answer(const Exchanged& exchange, const SharedText& text) {
  exchange->Respond(http::Response{.body = *text, .headers = {{"cache-control", "no-store"}}});
}

// Without parameters, responds with the board's text, even while the coordinator is away. With
// parameters, asks the coordinator.
void RunsApi::AnswerRuns(const Exchanged& exchange) {
  const auto board = board_.board();
  if (exchange->request().query.empty()) return Answer(exchange, board->runs_text);
  const auto list = ListOf(exchange->request());
  if (!list.ok()) return exchange->Respond(http::ErrorOf(list.status()));
  if (board->address.empty()) return exchange->Respond(UnknownRun(*board, ""));
  // Serialising a thousand runs takes longer than the loop may block, so it is done on the thread
  // that asked the coordinator.
  const auto respond = InLoop<SharedText>([this, exchange](const StatusOr<SharedText>& text) {
    text.ok() ? Answer(exchange, *text) : exchange->Respond(http::ErrorOf(text.status()));
  });
  board_.questions().List(*list, [respond, board](const StatusOr<v1::ListResponse>& page) {
    if (!page.ok()) return respond(page.status());
    respond(std::make_shared<const std::string>(Text(RunsDocument(*board, *page))));
  });
}

void RunsApi::AnswerDifferences(const Exchanged& exchange) {
  const auto references = ComparedOf(exchange->request());
  if (!references.ok()) return exchange->Respond(http::ErrorOf(references.status()));
  const auto board = board_.board();
  if (!board->connected) return exchange->Respond(NoCoordinator(board->message));
  // The files are compared on the thread that asked the coordinator, because that may take longer
  // than the loop may block.
  const auto respond = Responder(exchange, kNoRun);
  board_.questions().GetAll(*references, [respond](const StatusOr<std::vector<v1::Run>>& runs) {
    if (!runs.ok()) return respond(runs.status());
    const auto document = DifferencesDocument(*runs);
    if (!document.ok()) return respond(document.status());
    respond(std::make_shared<const std::string>(Text(*document)));
  });
}

void RunsApi::AnswerSweeps(const Exchanged& exchange) {
  if (const Status checked = CheckParameters(exchange->request(), {}); !checked.ok()) {
    return exchange->Respond(http::ErrorOf(checked));
  }
  const auto board = board_.board();
  if (!board->connected) return exchange->Respond(NoCoordinator(board->message));
  board_.questions().ListSweeps(
      [respond = Responder(exchange, kNoSweep)](const StatusOr<v1::ListSweepsResponse>& list) {
        if (!list.ok()) return respond(list.status());
        respond(std::make_shared<const std::string>(Text(SweepsDocument(*list))));
      });
}

void RunsApi::AnswerSweep(const Exchanged& exchange) {
  const http::Request& request = exchange->request();
  if (const Status checked = CheckParameters(request, {"namespace"}); !checked.ok()) {
    return exchange->Respond(http::ErrorOf(checked));
  }
  const auto board = board_.board();
  if (!board->connected) return exchange->Respond(NoCoordinator(board->message));
  const std::string sweep = fmt::format("{}/{}", request.Parameter("namespace").value_or("default"),
                                        request.Capture("name"));
  board_.questions().GetSweep(
      sweep, [respond = Responder(exchange, kNoSweep)](const StatusOr<v1::Sweep>& asked) {
        if (!asked.ok()) return respond(asked.status());
        respond(std::make_shared<const std::string>(Text(SweepDocument(*asked))));
      });
}

std::function<void(const StatusOr<RunsApi::SharedText>&)> RunsApi::Responder(
    const Exchanged& exchange, const char* code) {
  return InLoop<SharedText>([this, exchange, code](const StatusOr<SharedText>& text) {
    text.ok() ? Answer(exchange, *text) : exchange->Respond(NotFoundBecause(text.status(), code));
  });
}

template <typename Message>
std::function<void(const StatusOr<Message>&)> RunsApi::InLoop(
    std::function<void(const StatusOr<Message>&)> then) {
  return [&loop = loop_, weak = std::weak_ptr<RunsApi*>(self_),
          then = std::move(then)](const StatusOr<Message>& answer) {
    loop.Post([weak, then, answer] {
      if (weak.lock()) then(answer);
    });
  };
}

// Asks the coordinator for a name if the board may lack a newer run of that name. An id always
// means the same run, so the board suffices.
void RunsApi::Find(const Exchanged& exchange, const std::string& reference, Opener found) {
  const auto board = board_.board();
  const v1::Run* run = FindRun(*board, reference);
  const bool is_sure =
      run != nullptr && (run->run_id() == reference || board->has_all_runs || !board->connected);
  if (is_sure) return found(run->run_id());
  if (!board->connected) return exchange->Respond(UnknownRun(*board, reference));
  board_.questions().Get(
      reference,
      InLoop<v1::Run>([this, exchange, found = std::move(found)](const StatusOr<v1::Run>& asked) {
        if (!asked.ok()) return exchange->Respond(NotFoundBecause(asked.status(), kNoRun));
        board_.Add(*asked);
        found(asked->run_id());
      }));
}

void RunsApi::WhenKnown(const Exchanged& exchange, Answerer answer) {
  StartPoints();
  Find(exchange, std::string(exchange->request().Capture("id")),
       [this, exchange, answer = std::move(answer)](const std::string& run_id) {
         AwaitDetails(exchange, run_id, answer);
       });
}

void RunsApi::AwaitDetails(const Exchanged& exchange, const std::string& run_id,
                           const Answerer& answer) {
  board_.LookAt(run_id);
  if (DetailsOf(*board_.board(), run_id) != nullptr) return answer(exchange, run_id);
  waiting_.push_back({exchange, run_id, steady_clock::now() + options_.patience, answer});
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
      waiting.exchange->Respond(NoCoordinator(
          board->connected ? "the coordinator has not sent the history of this run yet"
                           : board->message));
    }
  }
}

void RunsApi::AnswerRun(const Exchanged& exchange, const std::string& run_id) {
  if (const Status checked = CheckParameters(exchange->request(), {}); !checked.ok()) {
    return exchange->Respond(http::ErrorOf(checked));
  }
  const auto board = board_.board();
  const auto details = DetailsOf(*board, run_id);
  if (details == nullptr) return exchange->Respond(UnknownRun(*board, run_id));
  Answer(exchange, std::make_shared<const std::string>(
                       Text(RunDocument(*board, *details, options_.models(run_id)))));
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
  if (const Status checked = CheckParameters(exchange->request(), {"run"}); !checked.ok()) {
    return exchange->Respond(http::ErrorOf(checked));
  }
  const auto reference = exchange->request().Parameter("run");
  if (!reference) return OpenPage(exchange, "");
  Find(exchange, std::string(*reference),
       [this, exchange](const std::string& run_id) { OpenPage(exchange, run_id); });
}

// Opens the event stream of a page that shows the run, or no run if the id is empty.
void RunsApi::OpenPage(const Exchanged& exchange, const std::string& run_id) {
  const std::string asker = exchange->request().Asker();
  if (const auto error = CheckStreams(asker)) return exchange->Respond(*error);
  Page page{.run_id = run_id, .asker = asker};
  page.stream = exchange->BeginEventStream();
  Tell(page);
  pages_.push_back(std::move(page));
}

std::optional<http::ApiError> RunsApi::CheckStreams(const std::string& asker) {
  pages_.remove_if([](const Page& page) { return page.stream->gone(); });
  const auto held = std::count_if(pages_.begin(), pages_.end(),
                                  [&](const Page& page) { return page.asker == asker; });
  const auto left = static_cast<ptrdiff_t>(options_.streams_max) - std::ssize(pages_);
  if (held < left) return std::nullopt;
  return http::ApiError{.status = 429,
                        .message = fmt::format("this client already has {} open streams, and {} "
                                               "are left for all clients; close some pages",
                                               held, left),
                        .code = "too_many_streams",
                        .retry_after = 10};
}

void RunsApi::EndStreams() {
  for (const Page& page : pages_) page.stream->End();
  pages_.clear();
}

void RunsApi::HandleChange() {
  AnswerWaiting();
  const auto board = board_.board();
  if (!on_sealed_ || board->sealed_version == sealed_version_) return;
  sealed_version_ = board->sealed_version;
  on_sealed_(board->sealed, board->sealed_complete);
}

// Sends each page the changes since its last message, as at most one message of each kind. A page
// with many unread bytes is skipped. Called twice a second.
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
  RunModels models = options_.models(page.run_id);
  if (KeepsUp(*page.stream) && (details != page.details || models != page.models)) {
    page.details = details;
    page.models = std::move(models);
    page.stream->Send(MessageText("run", RunDocument(*board, *details, page.models)));
  }
  if (KeepsUp(*page.stream)) TellPoints(page);
}

// Notes how many points each new page's run has now; points appended later are sent to the page.
// The page requests the history itself. This is called before that request is answered, so that no
// point is missed.
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
