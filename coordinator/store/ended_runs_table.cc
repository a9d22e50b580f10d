#include "coordinator/store/ended_runs_table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "coordinator/state/annotation.h"
#include "coordinator/state/run_reference.h"
#include "coordinator/store/codec.h"

namespace gp::coordinator {
namespace {

// SQLite's integers are signed.
int64_t Number(uint64_t sequence) {
  return static_cast<int64_t>(std::min<uint64_t>(sequence, INT64_MAX));
}

int64_t MicrosOf(Timestamp time) { return time.time_since_epoch().count(); }

// Text to append to a statement, and the values of its question marks.
struct Condition {
  std::string sql;
  std::vector<std::variant<int64_t, std::string>> values;
};

// Conditions on columns with an index. The entries of each index are in the order of submission.
std::vector<Condition> IndexedConditions(const RunQuery& query) {
  std::vector<Condition> conditions;
  if (!query.submitted_by.empty()) {
    conditions.push_back({"submitted_by = ?", {query.submitted_by}});
  }
  if (query.states.size() == 1) {
    conditions.push_back({"state = ?", {static_cast<int64_t>(*query.states.begin())}});
  }
  if (query.namespaces && query.namespaces->size() == 1) {
    conditions.push_back({"namespace = ?", {*query.namespaces->begin()}});
  }
  return conditions;
}

std::string QuestionMarks(size_t count) {
  std::string marks;
  for (size_t i = 0; i < count; ++i) marks += i == 0 ? "?" : ", ?";
  return marks;
}

// Conditions that use no index. They are checked for each run that the chosen index yields.
std::vector<Condition> CheckedConditions(const RunQuery& query) {
  std::vector<Condition> conditions;
  if (query.states.size() > 1) {
    Condition states{" AND +state IN (" + QuestionMarks(query.states.size()) + ")", {}};
    for (const RunState state : query.states) states.values.emplace_back(int64_t(state));
    conditions.push_back(std::move(states));
  }
  if (query.namespaces && query.namespaces->size() != 1) {
    Condition names{" AND +namespace IN (" + QuestionMarks(query.namespaces->size()) + ")", {}};
    for (const std::string& name : *query.namespaces) names.values.emplace_back(name);
    conditions.push_back(std::move(names));
  }
  if (query.submitted_since) {
    conditions.push_back({" AND +submitted_at >= ?", {MicrosOf(*query.submitted_since)}});
  }
  if (!query.search.empty()) {
    const std::string wanted = LowerCase(query.search);
    conditions.push_back(
        {" AND (instr(lower(name), ?) > 0 OR instr(lower(run_id), ?) = 1)", {wanted, wanted}});
  }
  return conditions;
}

// Builds the SELECT. One condition chooses the index; all others are checked for each run that this
// index yields. A "+" before a column keeps SQLite from using another index, for which it would
// have to sort all matches.
class Select {
 public:
  Select(const RunQuery& query, const EndedRange& range) {
    if (range.after > 0) {
      LeadByEnd(query, range);
    } else if (!query.labels.empty()) {
      LeadByLabel(query, range);
    } else {
      LeadByColumn(query, range);
    }
    for (Condition& condition : CheckedConditions(query)) And(std::move(condition));
    And({range.after == 0 && !query.labels.empty() ? " ORDER BY l.submitted_sequence DESC LIMIT ?"
                                                   : " ORDER BY submitted_sequence DESC LIMIT ?",
         {Number(range.limit)}});
  }

  const std::string& sql() const { return sql_; }

  void BindTo(SqliteStatement& statement) const {
    for (size_t i = 0; i < values_.size(); ++i) {
      const int index = static_cast<int>(i) + 1;
      if (const auto* number = std::get_if<int64_t>(&values_[i])) {
        statement.Bind(index, *number);
      } else {
        statement.Bind(index, std::get<std::string>(values_[i]));
      }
    }
  }

 private:
  static constexpr char kColumns[] =
      "SELECT ended_runs.run_id, ended_runs.submitted_sequence FROM ";

  // Uses the index by end. Its rows must be sorted by submission, but few runs end between two
  // pages of one list.
  void LeadByEnd(const RunQuery& query, const EndedRange& range) {
    sql_ =
        std::string(kColumns) + "ended_runs INDEXED BY ended_runs_by_end WHERE ended_sequence > ?";
    values_ = {Number(range.after)};
    And({" AND ended_sequence <= ?", {Number(range.through)}});
    And({" AND +submitted_sequence < ?", {Number(range.before)}});
    for (const auto& label : query.labels) AndLabel(label);
    for (Condition& condition : IndexedConditions(query)) AndChecked(std::move(condition));
  }

  void LeadByLabel(const RunQuery& query, const EndedRange& range) {
    const auto first = query.labels.begin();
    sql_ = std::string(kColumns) +
           "ended_run_labels AS l CROSS JOIN ended_runs"
           " ON ended_runs.submitted_sequence = l.submitted_sequence"
           " WHERE l.key = ? AND l.value = ? AND l.submitted_sequence < ?";
    values_ = {first->first, first->second, Number(range.before)};
    for (auto label = std::next(first); label != query.labels.end(); ++label) AndLabel(*label);
    for (Condition& condition : IndexedConditions(query)) AndChecked(std::move(condition));
    And({" AND +ended_sequence <= ?", {Number(range.through)}});
  }

  // Uses the index of the first indexed condition, or else the order of submission itself.
  void LeadByColumn(const RunQuery& query, const EndedRange& range) {
    sql_ = std::string(kColumns) + "ended_runs WHERE submitted_sequence < ?";
    values_ = {Number(range.before)};
    bool leads = true;
    for (Condition& condition : IndexedConditions(query)) {
      leads ? And({" AND " + condition.sql, std::move(condition.values)})
            : AndChecked(std::move(condition));
      leads = false;
    }
    And({" AND +ended_sequence <= ?", {Number(range.through)}});
  }

  void AndLabel(const LabelParts& label) {
    And(
        {" AND EXISTS(SELECT 1 FROM ended_run_labels AS other WHERE other.key = ?"
         " AND other.value = ? AND other.submitted_sequence = ended_runs.submitted_sequence)",
         {label.first, label.second}});
  }

  void AndChecked(Condition condition) {
    And({" AND +" + condition.sql, std::move(condition.values)});
  }

  void And(Condition condition) {
    sql_ += condition.sql;
    std::move(condition.values.begin(), condition.values.end(), std::back_inserter(values_));
  }

  std::string sql_;
  std::vector<std::variant<int64_t, std::string>> values_;
};

}  // namespace

std::optional<Run> SubmittedRun(const StoredEvent& stored) {
  const auto* submitted = std::get_if<RunSubmitted>(&stored.event.body);
  if (submitted == nullptr) return std::nullopt;
  Run run;
  run.id = stored.event.run;
  run.submission = std::make_shared<const Submission>(submitted->submission);
  run.submitted_by = stored.event.actor;
  run.labels = submitted->submission.labels;
  run.submitted_sequence = stored.sequence;
  run.submitted_at = stored.event.at;
  run.state = RunState::kSubmitted;
  return run;
}

Status EndedRunsTable::Prepare(SqliteConnection& writer) {
  ASSIGN_OR_RETURN(
      select_submit_,
      writer.Prepare("SELECT record FROM records WHERE run_id = ? ORDER BY sequence LIMIT 1"));
  ASSIGN_OR_RETURN(select_records_,
                   writer.Prepare("SELECT record FROM records WHERE run_id = ? ORDER BY sequence"));
  ASSIGN_OR_RETURN(select_ended_,
                   writer.Prepare("SELECT 1 FROM ended_runs WHERE submitted_sequence = ?"));
  ASSIGN_OR_RETURN(
      insert_run_,
      writer.Prepare("INSERT OR REPLACE INTO ended_runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  ASSIGN_OR_RETURN(insert_label_,
                   writer.Prepare("INSERT OR REPLACE INTO ended_run_labels VALUES (?, ?, ?)"));
  ASSIGN_OR_RETURN(delete_run_,
                   writer.Prepare("DELETE FROM ended_runs WHERE submitted_sequence = ?"));
  ASSIGN_OR_RETURN(delete_labels_,
                   writer.Prepare("DELETE FROM ended_run_labels WHERE submitted_sequence = ?"));
  return OkStatus();
}

Status EndedRunsTable::FillOnce(SqliteConnection& writer) {
  ASSIGN_OR_RETURN(const std::string filled,
                   writer.QueryText("SELECT EXISTS(SELECT 1 FROM ended_runs)"));
  if (filled == "1") return DivideLabels(writer);
  RETURN_IF_ERROR(writer.Execute("BEGIN IMMEDIATE"));
  const Status status = Fill(writer);
  if (status.ok()) return writer.Execute("COMMIT");
  if (writer.InTransaction()) RETURN_IF_ERROR(writer.Execute("ROLLBACK"));
  return WithContext(status, "index the ended runs");
}

// Converts labels of earlier versions, which did not divide them at the first '='.
Status EndedRunsTable::DivideLabels(SqliteConnection& writer) {
  return writer.Execute(
      "UPDATE OR REPLACE ended_run_labels SET key = substr(key, 1, instr(key, '=') - 1), "
      "value = substr(key, instr(key, '=') + 1) || '=' || value WHERE instr(key, '=') > 0");
}

Status EndedRunsTable::Fill(SqliteConnection& writer) {
  ASSIGN_OR_RETURN(SqliteStatement select,
                   writer.Prepare("SELECT sequence, record FROM records ORDER BY sequence"));
  std::map<RunId, Run> live;
  std::set<RunId> annotated;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, select.Step());
    if (!row) break;
    StatusOr<StoredEvent> stored = DecodeRecord(select.Blob(1));
    if (!stored.ok()) {
      return WithContext(stored.status(), fmt::format("store record {}", select.Int(0)));
    }
    if (auto run = SubmittedRun(*stored)) live.emplace(run->id, *std::move(run));
    if (std::holds_alternative<LegRequested>(stored->event.body)) {
      RETURN_IF_ERROR(Remove(stored->event.run));
      ASSIGN_OR_RETURN(auto run, ReadSubmitted(stored->event.run));
      if (run) live.emplace(run->id, *std::move(run));
    }
    if (std::holds_alternative<RunDeleted>(stored->event.body)) {
      RETURN_IF_ERROR(Remove(stored->event.run));
      annotated.erase(stored->event.run);
    }
    if (std::holds_alternative<RunAnnotated>(stored->event.body)) {
      annotated.insert(stored->event.run);
    }
    const auto* ended = std::get_if<RunEnded>(&stored->event.body);
    const auto run = live.find(stored->event.run);
    if (ended == nullptr || run == live.end()) continue;
    run->second.state = ended->state;
    RETURN_IF_ERROR(Insert(run->second, stored->sequence));
    live.erase(run);
  }
  for (const RunId& run : annotated) RETURN_IF_ERROR(SetLabels(run));
  return OkStatus();
}

StatusOr<std::optional<Run>> EndedRunsTable::ReadSubmitted(const RunId& run) {
  select_submit_.Bind(1, run.value());
  ASSIGN_OR_RETURN(const bool row, select_submit_.Step());
  StatusOr<StoredEvent> stored =
      row ? DecodeRecord(select_submit_.Blob(0)) : NotFound("run {} has no records", run);
  select_submit_.Reset();
  RETURN_IF_ERROR(stored.status());
  return SubmittedRun(*stored);
}

StatusOr<std::optional<Run>> EndedRunsTable::ReadAnnotated(const RunId& run) {
  ASSIGN_OR_RETURN(std::optional<Run> submitted, ReadSubmitted(run));
  if (!submitted) return submitted;
  select_records_.Bind(1, run.value());
  Status status;
  while (status.ok()) {
    const StatusOr<bool> row = select_records_.Step();
    status = row.status();
    if (!status.ok() || !*row) break;
    const StatusOr<StoredEvent> stored = DecodeRecord(select_records_.Blob(0));
    status = stored.status();
    const auto* change = status.ok() ? std::get_if<RunAnnotated>(&stored->event.body) : nullptr;
    if (change != nullptr) Annotate(*change, *submitted);
  }
  select_records_.Reset();
  RETURN_IF_ERROR(status);
  return submitted;
}

Status EndedRunsTable::SetLabels(const RunId& run) {
  ASSIGN_OR_RETURN(const std::optional<Run> submitted, ReadSubmitted(run));
  if (!submitted) return OkStatus();
  const int64_t sequence = Number(submitted->submitted_sequence);
  const StatusOr<bool> ended = select_ended_.Bind(1, sequence).Step();
  select_ended_.Reset();
  RETURN_IF_ERROR(ended.status());
  if (!*ended) return OkStatus();
  ASSIGN_OR_RETURN(const std::optional<Run> annotated, ReadAnnotated(run));
  RETURN_IF_ERROR(delete_labels_.Bind(1, sequence).Run());
  return InsertLabels(*annotated);
}

Status EndedRunsTable::Remove(const RunId& run) {
  ASSIGN_OR_RETURN(const std::optional<Run> submitted, ReadSubmitted(run));
  if (!submitted) return OkStatus();
  const int64_t sequence = Number(submitted->submitted_sequence);
  RETURN_IF_ERROR(delete_run_.Bind(1, sequence).Run());
  return delete_labels_.Bind(1, sequence).Run();
}

Status EndedRunsTable::Add(const RunId& run, uint64_t sequence, RunState state) {
  ASSIGN_OR_RETURN(std::optional<Run> submitted, ReadAnnotated(run));
  if (!submitted) return OkStatus();  // the replay sets such a run aside
  submitted->state = state;
  return Insert(*submitted, sequence);
}

Status EndedRunsTable::Insert(const Run& run, uint64_t ended_sequence) {
  const int64_t submitted = Number(run.submitted_sequence);
  insert_run_.Bind(1, submitted).Bind(2, Number(ended_sequence)).Bind(3, run.id.value());
  insert_run_.Bind(4, static_cast<int64_t>(run.state)).Bind(5, NamespaceOf(run));
  insert_run_.Bind(6, run.submission->name).Bind(7, run.submitted_by);
  RETURN_IF_ERROR(insert_run_.Bind(8, MicrosOf(run.submitted_at)).Run());
  return InsertLabels(run);
}

Status EndedRunsTable::InsertLabels(const Run& run) {
  const int64_t submitted = Number(run.submitted_sequence);
  for (const auto& label : run.labels) {
    const auto [key, value] = DivideLabel(label.first, label.second);
    RETURN_IF_ERROR(insert_label_.Bind(1, key).Bind(2, value).Bind(3, submitted).Run());
  }
  return OkStatus();
}

StatusOr<std::vector<EndedRun>> EndedRunsTable::List(SqliteConnection& reader,
                                                     const RunQuery& query, const EndedRange& range,
                                                     int64_t& steps) {
  const Select select(query, range);
  ASSIGN_OR_RETURN(SqliteStatement statement, reader.Prepare(select.sql()));
  select.BindTo(statement);
  std::vector<EndedRun> runs;
  while (true) {
    ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) break;
    runs.push_back({RunId(statement.Text(0)), static_cast<uint64_t>(statement.Int(1))});
  }
  steps = statement.Steps();
  return runs;
}

}  // namespace gp::coordinator
