#include "storage/object/conditional_put.h"

#include <future>
#include <vector>

#include "base/random_id.h"

namespace gp::object {
namespace {

constexpr int kWriters = 8;
constexpr int kRounds = 4;

}  // namespace

Status ConditionalPut::Put(const std::string& key, std::string_view data) const {
  RETURN_IF_ERROR(Proven());
  const Status put = PutAs(RandomId(20), key, data);
  if (put.code() != StatusCode::kAborted) return put;
  return AlreadyExists("{} exists", client_.UrlOf(key));
}

// When the answer to a write was lost, its repetition finds the object that it made itself; so the
// object says who wrote it.
Status ConditionalPut::PutAs(const std::string& writer, const std::string& key,
                             std::string_view data) const {
  const Status put = client_.PutIfAbsent(key, data, writer);
  if (put.code() != StatusCode::kAborted) return put;
  const auto info = client_.Head(key);
  if (!info.ok() && info.status().code() != StatusCode::kNotFound) return info.status();
  return info.ok() && info->writer == writer ? OkStatus() : put;
}

Status ConditionalPut::Proven() const {
  const MutexLock lock(mutex_);
  if (!is_obeyed_) {
    ASSIGN_OR_RETURN(is_obeyed_, Probe());
  }
  if (*is_obeyed_) return OkStatus();
  return Unimplemented(
      "{}: this object store does not keep to If-None-Match, so two writers could both succeed in "
      "creating one object",
      client_.UrlOf(prefix_));
}

StatusOr<bool> ConditionalPut::Probe() const {
  for (int round = 0; round < kRounds; ++round) {
    const std::string key = prefix_ + RandomId(20);
    const auto winners = CountWinners(key);
    const Status deleted = client_.Delete(key);
    if (winners.status().code() == StatusCode::kUnimplemented) return false;
    RETURN_IF_ERROR(winners.status());
    RETURN_IF_ERROR(deleted);
    if (*winners != 1) return false;
  }
  return true;
}

StatusOr<int> ConditionalPut::CountWinners(const std::string& key) const {
  std::vector<std::future<Status>> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.push_back(
        std::async(std::launch::async, [this, &key] { return PutAs(RandomId(20), key, "probe"); }));
  }
  int winners = 0;
  Status failed;
  for (auto& writer : writers) {
    const Status put = writer.get();
    if (put.ok()) ++winners;
    if (!put.ok() && put.code() != StatusCode::kAborted && failed.ok()) failed = put;
  }
  RETURN_IF_ERROR(failed);
  return winners;
}

}  // namespace gp::object
