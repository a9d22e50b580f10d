#include "coordinator/telemetry/run_series.h"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/text/utf8.h"

namespace gp::coordinator {
namespace {

RunFamilies::Gauges& MakeGauges(const char* name, const char* help,
                                prometheus::Registry& registry) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

RunFamilies::Counters& MakeCounters(const char* name, const char* help,
                                    prometheus::Registry& registry) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

double Seconds(Timestamp time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

// Converts a user's text to a label value: at most kBytesMax bytes of valid UTF-8 without control
// characters. The serializer escapes quotes and backslashes.
std::string LabelText(const std::string& text) {
  constexpr size_t kBytesMax = 120;
  std::string label = ValidUtf8(text.substr(0, kBytesMax), '?');
  for (char& c : label) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return label;
}

// Whether no rank takes a step after this event until the next RunStarted.
bool EndsSteps(const EventBody& body) {
  return std::holds_alternative<RankFailed>(body) || std::holds_alternative<RunRequeued>(body) ||
         std::holds_alternative<RunPaused>(body) || std::holds_alternative<LegBegun>(body) ||
         std::holds_alternative<CancelRequested>(body) ||
         std::holds_alternative<RunFinishing>(body);
}

// Returns "alice" for the actor "user alice", and "owner" for "owner".
std::string UserOf(const std::string& actor) {
  constexpr std::string_view kPrefix = "user ";
  return actor.starts_with(kPrefix) ? actor.substr(kPrefix.size()) : actor;
}

}  // namespace

RunFamilies::RunFamilies(prometheus::Registry& registry)
    : info(MakeGauges("gp_run_info",
                      "Live runs; always 1. user: who submitted the run; model: the name or the "
                      "shape of its size; dataset: the last part of the first path of its data; "
                      "precision: as in the run file",
                      registry)),
      epoch(MakeGauges("gp_run_epoch",
                       "Number of times that a group of ranks was started for the run", registry)),
      completion(MakeGauges("gp_run_estimated_completion_timestamp_seconds",
                            "Estimated time of the last step, from the mean speed of about the "
                            "last ten minutes; absent while no rank takes steps",
                            registry)),
      peak_flops(MakeGauges("gp_run_peak_flops",
                            "Peak FLOPs per second of all ranks, of which gp_run_mfu is a "
                            "fraction, and where the number comes from",
                            registry)),
      eval_loss(
          MakeGauges("gp_eval_loss", "Loss of the last evaluation, nats per token", registry)),
      eval_score(MakeGauges("gp_eval_score",
                            "Other results of the last evaluation: val_bpb, bits per byte; for "
                            "questions TASK/STYLE/acc and acc_norm, 0 to 1",
                            registry)),
      checkpoint_time(MakeGauges("gp_checkpoint_last_success_timestamp_seconds",
                                 "When the newest checkpoint was sealed", registry)),
      checkpoint_size(MakeGauges("gp_checkpoint_size_bytes",
                                 "Size of all files of the newest sealed checkpoint", registry)),
      time(MakeCounters(
          "gp_run_time_seconds_total",
          "How the time since submission was spent; the states are disjoint: queued, starting, "
          "productive (new steps), redone (steps that a failure lost), waiting (for another try, "
          "or for ranks to leave), paused (by a user, or between an end and the next leg)",
          registry)),
      failures(MakeCounters("gp_run_failures_total", "Epochs that ended with a failure", registry)),
      steps(MakeCounters("gp_train_steps_total", "Steps taken, including repeated ones", registry)),
      tokens(MakeCounters("gp_train_tokens_total",
                          "Tokens trained, including those of repeated steps", registry)),
      flops(MakeCounters("gp_train_model_flops_total",
                         "FLOPs that the model needs for the steps taken, as gp_run_mfu counts "
                         "them; only for steps with a known peak",
                         registry)),
      skipped(MakeCounters("gp_train_skipped_steps_total",
                           "Steps whose update was not applied, by reason", registry)) {
  contract::TrainingPoint::ForEachField([&](const contract::FieldInfo& field, auto) {
    if (*field.gauge != '\0') point[field.name] = &MakeGauges(field.gauge, field.help, registry);
  });
}

RunSeries::RunSeries(const Run& run, RunFamilies& families)
    : run_(run.id.value()), families_(families) {
  const Submission& submission = *run.submission;
  Set(families_.info, 1,
      {{"name", LabelText(submission.name)},
       {"namespace", LabelText(submission.run_namespace)},
       {"user", LabelText(UserOf(run.submitted_by))},
       {"model", LabelText(submission.model)},
       {"dataset", LabelText(submission.dataset)},
       {"precision", LabelText(submission.precision)},
       {"world_size", std::to_string(submission.workers)}});
  Set(*families_.point.at("target_steps"), static_cast<double>(submission.target_steps));
  Set(*families_.point.at("step"), 0);
  Set(families_.epoch, static_cast<double>(run.epoch));
  Raise(families_.failures, run.failures);
  for (const char* reason : {"nonfinite", "spike"})
    Raise(families_.skipped, 0, {{"reason", reason}});
  for (RunFamilies::Counters* family : {&families_.steps, &families_.tokens, &families_.flops}) {
    Raise(*family, 0);
  }
  if (const SealedCheckpoint* latest = run.LatestCheckpoint()) ShowCheckpoint(*latest);
  Refresh(run.submitted_at);
}

RunSeries::~RunSeries() {
  for (const auto& series : gauges_) series.family->Remove(series.value);
  for (const auto& series : counters_) series.family->Remove(series.value);
}

template <typename Value>
Value& RunSeries::At(prometheus::Family<Value>& family, Labels labels,
                     std::vector<Series<Value>>& all) {
  const auto known = std::find_if(all.begin(), all.end(), [&](const Series<Value>& series) {
    return series.family == &family && series.labels == labels;
  });
  if (known != all.end()) return *known->value;
  return *all.emplace_back(Series<Value>{&family, labels, &family.Add(labels)}).value;
}

void RunSeries::Set(RunFamilies::Gauges& family, double value, const Labels& labels) {
  Labels with_run = labels;
  with_run["run"] = run_;
  At(family, std::move(with_run), gauges_).Set(value);
}

void RunSeries::Raise(RunFamilies::Counters& family, double value, const Labels& labels) {
  Labels with_run = labels;
  with_run["run"] = run_;
  prometheus::Counter& counter = At(family, std::move(with_run), counters_);
  if (value > counter.Value()) counter.Increment(value - counter.Value());
}

void RunSeries::Drop(RunFamilies::Gauges& family) {
  std::erase_if(gauges_, [&](const Series<prometheus::Gauge>& series) {
    if (series.family == &family) family.Remove(series.value);
    return series.family == &family;
  });
}

void RunSeries::Observe(const Event& event, const Run& run) {
  times_.Observe(event);
  if (const auto* started = std::get_if<RunStarted>(&event.body)) stepping_ = started->epoch;
  if (const auto* next = std::get_if<RunReconfigured>(&event.body)) stepping_ = next->epoch;
  if (EndsSteps(event.body)) {
    stepping_.reset();
    Drop(families_.completion);
  }
  Set(families_.epoch, static_cast<double>(run.epoch));
  Raise(families_.failures, run.failures);
  if (const auto* failed = std::get_if<RankFailed>(&event.body); failed != nullptr && !failed_) {
    failed_ = {failed->epoch, event.at};
  }
  if (std::holds_alternative<CheckpointSealed>(event.body)) {
    if (const SealedCheckpoint* latest = run.LatestCheckpoint()) ShowCheckpoint(*latest);
  }
}

void RunSeries::Observe(const Progress& progress) {
  times_.SetEpochs(progress.epochs);
  SeeRecovery(progress);
  const auto spikes = static_cast<double>(progress.skipped_spikes);
  Raise(families_.skipped, static_cast<double>(progress.skipped_steps) - spikes,
        {{"reason", "nonfinite"}});
  Raise(families_.skipped, spikes, {{"reason", "spike"}});
  Raise(families_.steps, static_cast<double>(progress.steps_taken));
  Raise(families_.tokens, static_cast<double>(progress.tokens_taken));
  Raise(families_.flops, progress.flops_taken);
  if (progress.newest) Show(*progress.newest);
  ShowCompletion(progress);
  if (progress.validation_loss) {
    Set(families_.eval_loss, *progress.validation_loss, {{"split", "val"}});
  }
  for (const auto& [name, score] : progress.scores) {
    Set(families_.eval_score, score.value, {{"score", name}});
  }
}

void RunSeries::Show(const contract::TrainingPoint& point) {
  contract::VisitFields(point, [&](const contract::FieldInfo& field, const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    const auto family = families_.point.find(field.name);
    if (family == families_.point.end()) return;
    if constexpr (contract::Listed<Value>) {
      contract::VisitFields(value, [&](const contract::FieldInfo& part, double seconds) {
        Set(*family->second, seconds, {{"phase", part.name}});
      });
    } else if constexpr (std::is_same_v<Value, std::optional<double>>) {
      if (value) Set(*family->second, *value);
    } else if constexpr (std::is_arithmetic_v<Value>) {
      if (!(field.omit_default && value == Value{})) {
        Set(*family->second, static_cast<double>(value));
      }
    }
  });
  if (point.peak_flops > 0) {
    Set(families_.peak_flops, point.peak_flops, {{"source", point.peak_source}});
  }
}

// Ignores points of an epoch that has ended: they may still arrive after its end.
void RunSeries::ShowCompletion(const Progress& progress) {
  if (!progress.newest || !progress.pace.forecasts()) return;
  const contract::TrainingPoint& newest = *progress.newest;
  if (stepping_ != newest.epoch || newest.target_steps <= 0) return;
  const auto left = static_cast<double>(std::max<int64_t>(newest.target_steps - newest.step, 0));
  Set(families_.completion, Seconds(CommittedAt(newest)) + left * progress.pace.SecondsPerStep());
}

void RunSeries::ShowCheckpoint(const SealedCheckpoint& checkpoint) {
  Set(families_.checkpoint_time, Seconds(checkpoint.sealed_at));
  Set(families_.checkpoint_size, static_cast<double>(checkpoint.size_bytes));
}

// Sets the recovery time once an epoch after the failed one has taken its first step.
void RunSeries::SeeRecovery(const Progress& progress) {
  if (!failed_ || progress.epochs.empty()) return;
  const EpochStart& newest = progress.epochs.back();
  if (newest.epoch <= failed_->first) return;
  recovery_seconds_ =
      std::max(0.0, std::chrono::duration<double>(newest.first_at - failed_->second).count());
  failed_.reset();
}

std::optional<double> RunSeries::TakeRecovery() {
  return std::exchange(recovery_seconds_, std::nullopt);
}

void RunSeries::Refresh(Timestamp now) {
  const auto seconds = times_.At(now);
  for (const RunTime state : kRunTimes) {
    Raise(families_.time, seconds[static_cast<size_t>(state)],
          {{"state", std::string(Name(state))}});
  }
}

}  // namespace gp::coordinator
