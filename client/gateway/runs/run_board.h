// RunBoard: the coordinator's runs, for the pages and for the catalogue of models. One thread polls
// the coordinator (RunSurvey), one follows the runs that pages show (FollowedRun), one asks for
// what a request needs besides (RunQuestions). The results are published as immutable Boards. When
// the coordinator is gone the last Board stays, with `connected` false. Callers never wait for the
// coordinator.
//
//   RunBoard board({.address = settings.coordinator}, [&io] { post(io, ...look at board()...); });
//   board.board()->sealed    runs for the catalogue of models; sealed_version grows with each
//                            change. Use run names only once sealed_complete is true.
//   board.LookAt(id)         call it before asking for a run's details and points, and repeat it
//
// Owned by the RunsApi; thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "client/api/interruption.h"
#include "client/api/run_client.h"
#include "client/api/run_streams.h"
#include "client/gateway/runs/board.h"
#include "client/gateway/runs/followed_run.h"
#include "client/gateway/runs/run_questions.h"
#include "client/gateway/runs/run_survey.h"

namespace gp::gateway {

struct RunBoardOptions {
  std::string address;  // the coordinator's, HOST:PORT or unix:PATH; may be empty
  client::CallCredentials credentials;
  std::optional<rpc::ChannelTls> tls;  // for HOST:PORT; absent: the coordinator runs without TLS
  // Time between two surveys: survey_pause while a run on the board is live, a page shows a run or
  // the coordinator is unreachable, otherwise idle_pause; 0.2 s after an event of a followed run.
  std::chrono::milliseconds survey_pause = std::chrono::seconds(1);
  std::chrono::milliseconds idle_pause = std::chrono::seconds(3);
  // Time between two looks at the streams; a page shows two changes a second.
  std::chrono::milliseconds follow_pause{250};
  // A coordinator that does not answer in this time counts as gone until the next survey.
  std::chrono::milliseconds timeout = std::chrono::seconds(3);
  // Runs whose points and events are kept: about 5 MiB each at most (PointSeries::kCapacity).
  size_t followed_max = 16;
  // Live runs among these that no page has shown yet, so that their pages open at once.
  size_t live_followed_max = 4;
};

class RunBoard {
 public:
  // `on_change` is called on threads of this object, after each survey and after new details or
  // points; it must be short (RunsApi only posts to the loop). The Board may be unchanged.
  RunBoard(RunBoardOptions options, std::function<void()> on_change);
  ~RunBoard();

  // Never null.
  std::shared_ptr<const Board> board() const;

  // Asks the coordinator about runs that are not on the board.
  RunQuestions& questions() { return questions_; }
  // Adds a run that the coordinator returned to the board's `others`, where it stays until a minute
  // after the last LookAt; at most 100 runs, then the one looked at longest ago is dropped.
  void Add(const v1::Run& run);

  // A page wants details and points of this run now and for the next minute.
  void LookAt(const std::string& run_id);

  // Nullopt if the run is not followed, or its history is not complete yet.
  std::optional<FollowedRun::Points> Points(const std::string& run_id,
                                            const PointRange& range) const;
  std::optional<FollowedRun::Points> PointsAfter(const std::string& run_id, uint32_t appended,
                                                 size_t count_max) const;

 private:
  using FollowedRuns = std::map<std::string, std::shared_ptr<FollowedRun>>;

  void KeepSurveying();
  void KeepFollowing();
  void Publish(StatusOr<RunSurvey::Finding> finding);
  void KeepLookedAt(const v1::ListResponse& page, Board& board) const REQUIRES(mutex_);
  bool IsLookedAt(const std::string& run_id) const REQUIRES(mutex_);
  void DropOneOther(Board& board) const REQUIRES(mutex_);
  static void Put(RunSurvey::Finding finding, Board& board);
  // Fetches the state of `others`, and removes those that no page shows.
  void RefreshOthers();
  void PublishDetails();
  // The runs of the board that are to be followed, by id.
  std::map<std::string, v1::Run> Wanted() const;
  void Follow(const std::map<std::string, v1::Run>& wanted);
  void HandleNews(FollowedRun::News news);
  std::shared_ptr<FollowedRun> Followed(const std::string& run_id) const;
  // Wait until the next survey or look is due. False when the thread must stop.
  bool AwaitSurvey(bool has_more);  // `has_more`: the last survey is not complete, so do not wait
  bool AwaitFollow();
  bool SomebodyLooks() const REQUIRES(mutex_);
  bool IsLoading() const REQUIRES(mutex_);

  const RunBoardOptions options_;
  const std::function<void()> on_change_;
  client::Interruption interruption_;
  client::RunClient client_;
  client::RunStreams streams_;
  RunQuestions questions_;

  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool survey_now_ GUARDED_BY(mutex_) = false;
  bool follow_now_ GUARDED_BY(mutex_) = false;
  bool news_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<const Board> board_ GUARDED_BY(mutex_);
  FollowedRuns followed_ GUARDED_BY(mutex_);
  std::map<std::string, std::chrono::steady_clock::time_point> looked_at_ GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace gp::gateway
