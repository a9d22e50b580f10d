#include "client/gateway/runs/run_board.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "client/gateway/runs/runs_json.h"

namespace gp::gateway {
namespace {

using std::chrono::steady_clock;

// A run counts as viewed for this long after the last LookAt. Open pages call it more often.
constexpr std::chrono::seconds kLookLasts{60};
// Limit for the board's `others`: runs that pages show but that are not on the list's first page.
constexpr size_t kOthersMax = 100;
// The pause between two looks at the streams while the history of a run is being loaded.
constexpr std::chrono::milliseconds kLoadingPause{25};
// The shortest pause between two surveys, because events arrive in bursts.
constexpr std::chrono::milliseconds kSurveyPauseMin{200};

client::RunClientOptions ClientOptions(const RunBoardOptions& options) {
  return {.address = options.address.empty() ? "127.0.0.1:1" : options.address,
          .credentials = options.credentials,
          .tls = options.tls,
          .timeout = options.timeout};
}

bool IsLive(const v1::Run& run) { return !client::IsTerminal(run.state()); }

std::string WhyNotConnected(const std::string& address, const Status& status) {
  if (status.code() != StatusCode::kUnavailable) return Message(status);
  return fmt::format("the coordinator at {} cannot be reached", address);
}

// A text that changes only when a page must be told about the workers. It omits when a connected
// worker was last heard from.
std::string WorkersKey(Board board) {
  for (v1::Node& node : board.nodes) {
    if (node.connected()) node.clear_last_heard_at();
  }
  return Text(WorkersDocument(board));
}

}  // namespace

RunBoard::RunBoard(RunBoardOptions options, std::function<void()> on_change)
    : options_(std::move(options)),
      on_change_(std::move(on_change)),
      client_(ClientOptions(options_), interruption_),
      streams_(client_.address(), options_.credentials, options_.tls),
      questions_(client_) {
  Board first{.address = options_.address};
  first.message =
      options_.address.empty()
          ? "there is no coordinator: the gateway was started without one"
          : fmt::format("the gateway has not reached the coordinator at {} yet", options_.address);
  first.runs_text = std::make_shared<const std::string>(Text(RunsDocument(first)));
  first.workers_text = std::make_shared<const std::string>(Text(WorkersDocument(first)));
  board_ = std::make_shared<const Board>(std::move(first));
  if (options_.address.empty()) return;
  threads_.emplace_back([this] { KeepSurveying(); });
  threads_.emplace_back([this] { KeepFollowing(); });
}

RunBoard::~RunBoard() {
  interruption_.Request();
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

std::shared_ptr<const Board> RunBoard::board() const {
  MutexLock lock(mutex_);
  return board_;
}

void RunBoard::LookAt(const std::string& run_id) {
  MutexLock lock(mutex_);
  looked_at_[run_id] = steady_clock::now();
  if (followed_.contains(run_id)) return;
  follow_now_ = true;
  changed_.NotifyAll();
}

std::shared_ptr<FollowedRun> RunBoard::Followed(const std::string& run_id) const {
  MutexLock lock(mutex_);
  const auto found = followed_.find(run_id);
  return found == followed_.end() ? nullptr : found->second;
}

std::optional<FollowedRun::Points> RunBoard::Points(const std::string& run_id,
                                                    const PointRange& range) const {
  const auto run = Followed(run_id);
  if (run == nullptr || run->Details() == nullptr) return std::nullopt;
  return run->Select(range);
}

std::optional<FollowedRun::Points> RunBoard::PointsAfter(const std::string& run_id,
                                                         uint32_t appended,
                                                         size_t count_max) const {
  const auto run = Followed(run_id);
  if (run == nullptr || run->Details() == nullptr) return std::nullopt;
  return run->PointsAfter(appended, count_max);
}

void RunBoard::KeepSurveying() {
  RunSurvey survey(client_);
  bool has_more = false;
  do {
    auto finding = survey.Run();
    has_more = finding.ok() && !finding->complete;
    Publish(std::move(finding));
    RefreshOthers();
  } while (AwaitSurvey(has_more));
}

bool RunBoard::AwaitSurvey(bool has_more) {
  const auto begin = steady_clock::now();
  MutexLock lock(mutex_);
  while (!stopping_ && !has_more) {
    const auto now = steady_clock::now();
    const auto pause = survey_now_       ? kSurveyPauseMin
                       : SomebodyLooks() ? options_.survey_pause
                                         : options_.idle_pause;
    if (now >= begin + pause) break;
    changed_.WaitUntil(mutex_, begin + pause);
  }
  survey_now_ = false;
  return !stopping_;
}

bool RunBoard::SomebodyLooks() const {
  return !board_->connected || std::any_of(board_->runs.begin(), board_->runs.end(), IsLive) ||
         std::any_of(looked_at_.begin(), looked_at_.end(), [](const auto& look) {
           return steady_clock::now() - look.second < kLookLasts;
         });
}

void RunBoard::Publish(StatusOr<RunSurvey::Finding> finding) {
  {
    MutexLock lock(mutex_);
    Board next = *board_;
    next.connected = finding.ok();
    next.message = finding.ok() ? "" : WhyNotConnected(options_.address, finding.status());
    if (finding.ok()) {
      KeepLookedAt(finding->page, next);
      Put(*std::move(finding), next);
    }
    next.runs_text = std::make_shared<const std::string>(Text(RunsDocument(next)));
    if (*next.runs_text != *board_->runs_text) ++next.runs_version;
    if (WorkersKey(next) != WorkersKey(*board_)) ++next.workers_version;
    next.workers_text = std::make_shared<const std::string>(Text(WorkersDocument(next)));
    board_ = std::make_shared<const Board>(std::move(next));
  }
  on_change_();
}

// Keeps viewed runs on the board, in `others`, when newer runs push them off the list's first page.
void RunBoard::KeepLookedAt(const v1::ListResponse& page, Board& board) const {
  std::set<std::string_view> listed;
  for (const v1::Run& run : page.runs()) listed.insert(run.run_id());
  for (const v1::Run& run : board.runs) {
    if (!listed.contains(run.run_id()) && IsLookedAt(run.run_id()))
      board.others[run.run_id()] = run;
  }
}

bool RunBoard::IsLookedAt(const std::string& run_id) const {
  const auto look = looked_at_.find(run_id);
  return look != looked_at_.end() && steady_clock::now() - look->second < kLookLasts;
}

void RunBoard::Put(RunSurvey::Finding finding, Board& board) {
  const v1::ListResponse& page = finding.page;
  board.runs.assign(page.runs().begin(), page.runs().end());
  board.has_all_runs = page.next_page_token().empty();
  board.total.reset();
  if (page.has_total()) board.total = page.total();
  board.counts.clear();
  for (const v1::StateCount& count : page.state_counts()) {
    board.counts[count.state()] = count.runs();
  }
  for (const v1::Run& run : board.runs) board.others.erase(run.run_id());
  board.nodes = std::move(finding.nodes);
  const bool is_same = board.sealed == finding.sealed && board.sealed_complete == finding.complete;
  if (board.sealed_version > 0 && is_same) return;
  board.sealed = std::move(finding.sealed);
  board.sealed_complete = finding.complete;
  ++board.sealed_version;
}

void RunBoard::Add(const v1::Run& run) {
  MutexLock lock(mutex_);
  looked_at_[run.run_id()] = steady_clock::now();
  const auto is_it = [&](const v1::Run& known) { return known.run_id() == run.run_id(); };
  if (std::any_of(board_->runs.begin(), board_->runs.end(), is_it)) return;
  Board next = *board_;
  DropOneOther(next);
  v1::Run& added = next.others[run.run_id()] = run;
  added.clear_source();
  added.clear_resolved();
  board_ = std::make_shared<const Board>(std::move(next));
  follow_now_ = true;
  changed_.NotifyAll();
}

// Makes room for another run in `others`: if they are full, drops the one viewed longest ago.
void RunBoard::DropOneOther(Board& board) const {
  if (board.others.size() < kOthersMax) return;
  auto dropped = board.others.begin();
  steady_clock::time_point longest_ago = steady_clock::time_point::max();
  for (auto other = board.others.begin(); other != board.others.end(); ++other) {
    const auto look = looked_at_.find(other->first);
    const auto at = look == looked_at_.end() ? steady_clock::time_point() : look->second;
    if (at >= longest_ago) continue;
    longest_ago = at;
    dropped = other;
  }
  board.others.erase(dropped);
}

void RunBoard::RefreshOthers() {
  const auto others = board()->others;
  if (others.empty()) return;
  std::map<std::string, v1::Run> newer;
  for (const auto& [id, run] : others) {
    if (!IsLive(run)) continue;
    const auto now = client_.Get(id);
    if (now.ok()) newer[id] = *now;
  }
  MutexLock lock(mutex_);
  Board next = *board_;
  for (auto& [id, run] : newer) {
    if (next.others.contains(id)) next.others[id] = std::move(run);
  }
  for (auto other = next.others.begin(); other != next.others.end();) {
    other = IsLookedAt(other->first) ? std::next(other) : next.others.erase(other);
  }
  board_ = std::make_shared<const Board>(std::move(next));
}

void RunBoard::KeepFollowing() {
  while (AwaitFollow()) {
    if (board()->connected) Follow(Wanted());
    PublishDetails();
  }
  FollowedRuns left;
  {
    MutexLock lock(mutex_);
    left = followed_;
  }
  for (const auto& [id, run] : left) run->Close();
}

// Waits until it is time to look at the streams again; new points and events are batched meanwhile.
bool RunBoard::AwaitFollow() {
  const auto begin = steady_clock::now();
  MutexLock lock(mutex_);
  while (!stopping_ && !follow_now_) {
    const auto end = begin + (IsLoading() ? kLoadingPause : options_.follow_pause);
    if (steady_clock::now() >= end) break;
    changed_.WaitUntil(mutex_, end);
  }
  follow_now_ = false;
  return !stopping_;
}

bool RunBoard::IsLoading() const {
  return board_->connected && std::any_of(followed_.begin(), followed_.end(), [](const auto& run) {
           return run.second->Details() == nullptr;
         });
}

std::map<std::string, v1::Run> RunBoard::Wanted() const {
  const auto now = steady_clock::now();
  MutexLock lock(mutex_);
  std::vector<std::pair<steady_clock::time_point, const v1::Run*>> ranked;
  size_t live = 0;
  std::vector<const v1::Run*> runs;
  for (const v1::Run& run : board_->runs) runs.push_back(&run);
  for (const auto& [id, run] : board_->others) runs.push_back(&run);
  for (const v1::Run* run : runs) {
    const auto looked = looked_at_.find(run->run_id());
    // Rank by the time of the last view; then live runs, then runs that are followed already.
    if (looked != looked_at_.end()) {
      ranked.emplace_back(looked->second, run);
    } else if (IsLive(*run) && live++ < options_.live_followed_max) {
      ranked.emplace_back(now - kLookLasts, run);
    } else if (followed_.contains(run->run_id())) {
      ranked.emplace_back(steady_clock::time_point(), run);
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (ranked.size() > options_.followed_max) ranked.resize(options_.followed_max);
  std::map<std::string, v1::Run> wanted;
  for (const auto& [at, run] : ranked) wanted.emplace(run->run_id(), *run);
  return wanted;
}

void RunBoard::Follow(const std::map<std::string, v1::Run>& wanted) {
  FollowedRuns left;
  FollowedRuns kept;
  {
    MutexLock lock(mutex_);
    std::erase_if(looked_at_, [&](const auto& look) {
      return !wanted.contains(look.first) && steady_clock::now() - look.second > kLookLasts;
    });
    for (const auto& [id, run] : followed_) (wanted.contains(id) ? kept : left)[id] = run;
    for (const auto& [id, run] : wanted) {
      if (kept.contains(id)) continue;
      kept[id] = std::make_shared<FollowedRun>(
          client_, streams_, [this](FollowedRun::News news) { HandleNews(news); });
    }
    followed_ = kept;
  }
  for (const auto& [id, run] : left) run->Close();
  for (const auto& [id, run] : kept) run->Tend(wanted.at(id));
}

void RunBoard::HandleNews(FollowedRun::News news) {
  MutexLock lock(mutex_);
  news_ = true;
  if (news != FollowedRun::News::kEvent || survey_now_) return;
  survey_now_ = true;
  changed_.NotifyAll();
}

void RunBoard::PublishDetails() {
  {
    MutexLock lock(mutex_);
    std::map<std::string, std::shared_ptr<const RunDetails>> details;
    for (const auto& [id, run] : followed_) {
      if (auto one = run->Details()) details.emplace(id, std::move(one));
    }
    const bool changed = details != board_->details;
    if (!changed && !news_) return;
    news_ = false;
    if (changed) {
      Board next = *board_;
      next.details = std::move(details);
      board_ = std::make_shared<const Board>(std::move(next));
    }
  }
  on_change_();
}

}  // namespace gp::gateway
