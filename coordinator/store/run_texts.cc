#include "coordinator/store/run_texts.h"

#include <algorithm>

namespace gp::coordinator {
namespace {

using SubmissionPointer = std::shared_ptr<const Submission>;

StatusOr<SubmissionPointer> WithTexts(Store& store, const RunId& run, SubmissionPointer slim) {
  if (!slim->texts_are_stored) return slim;
  ASSIGN_OR_RETURN(const auto events, store.ReadRun(run, slim->record - 1, 1));
  const Event* event = events.empty() ? nullptr : &events.front().event;
  const Submission* stored = nullptr;
  if (event != nullptr && events.front().sequence == slim->record) {
    if (const auto* submitted = std::get_if<RunSubmitted>(&event->body)) {
      stored = &submitted->submission;
    } else if (const auto* requested = std::get_if<LegRequested>(&event->body)) {
      stored = &requested->submission;
    }
  }
  if (stored == nullptr) {
    return DataLoss("record {} of the store is not the run file of run '{}'", slim->record, run);
  }
  auto whole = std::make_shared<Submission>(*slim);
  whole->source = stored->source;
  whole->resolved = stored->resolved;
  whole->texts_are_stored = false;
  return SubmissionPointer(std::move(whole));
}

}  // namespace

StatusOr<std::shared_ptr<const Run>> WithTexts(Store& store, std::shared_ptr<const Run> run) {
  const bool has_texts = !run->submission->texts_are_stored &&
                         std::ranges::none_of(run->ended_legs, [](const EndedLeg& ended) {
                           return ended.submission->texts_are_stored;
                         });
  if (has_texts) return run;
  auto whole = std::make_shared<Run>(*run);
  ASSIGN_OR_RETURN(whole->submission, WithTexts(store, run->id, run->submission));
  for (EndedLeg& ended : whole->ended_legs) {
    ASSIGN_OR_RETURN(ended.submission, WithTexts(store, run->id, ended.submission));
  }
  return std::shared_ptr<const Run>(std::move(whole));
}

}  // namespace gp::coordinator
