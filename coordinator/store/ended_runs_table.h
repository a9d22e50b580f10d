// EndedRunsTable: the index of ended runs in gp.db (docs/formats/store.md), tables `ended_runs` and
// `ended_run_labels`. It is derived from the records and written in their transactions. All methods
// except List belong to the thread of the writer's connection.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/store/sqlite.h"
#include "coordinator/store/store.h"

namespace gp::coordinator {

// The run right after its submission, if the record is a RunSubmitted; otherwise nullopt.
std::optional<Run> SubmittedRun(const StoredEvent& stored);

class EndedRunsTable {
 public:
  // The tables; a migration of gp.db. An index of a table with an INTEGER PRIMARY KEY ends with
  // that key, so the entries of each value are in the order of submission.
  static constexpr char kMigration[] =
      R"(CREATE TABLE ended_runs(
         submitted_sequence INTEGER PRIMARY KEY,
         ended_sequence INTEGER NOT NULL,
         run_id TEXT NOT NULL,
         state INTEGER NOT NULL,
         namespace TEXT NOT NULL,
         name TEXT NOT NULL,
         submitted_by TEXT NOT NULL,
         submitted_at INTEGER NOT NULL);
       CREATE INDEX ended_runs_by_end ON ended_runs(ended_sequence);
       CREATE INDEX ended_runs_by_state ON ended_runs(state);
       CREATE INDEX ended_runs_by_namespace ON ended_runs(namespace);
       CREATE INDEX ended_runs_by_user ON ended_runs(submitted_by);
       CREATE TABLE ended_run_labels(
         key TEXT NOT NULL,
         value TEXT NOT NULL,
         submitted_sequence INTEGER NOT NULL,
           PRIMARY KEY(key, value, submitted_sequence)) WITHOUT ROWID;)";

  // `writer` must outlive this object.
  Status Prepare(SqliteConnection& writer);
  // If the tables are empty, fills them from the records, which may be older than the tables.
  // Otherwise converts the labels that earlier versions wrote (DivideLabel).
  Status FillOnce(SqliteConnection& writer);
  // REQUIRES: a transaction is open that also writes the record of the run's end.
  Status Add(const RunId& run, uint64_t sequence, RunState state);
  // Removes a run that continues with another leg or is deleted, if it is there.
  // REQUIRES: a transaction is open that also writes the record of the leg or of the deletion.
  Status Remove(const RunId& run);
  // Replaces the labels of a run, if it is there, by those that its records give it.
  // REQUIRES: a transaction is open that has written the record of the change.
  Status SetLabels(const RunId& run);

  // Store::ListEnded. Sets `steps` to the number of virtual machine instructions that SQLite ran.
  static StatusOr<std::vector<EndedRun>> List(SqliteConnection& reader, const RunQuery& query,
                                              const EndedRange& range, int64_t& steps);

 private:
  Status DivideLabels(SqliteConnection& writer);
  Status Fill(SqliteConnection& writer);
  Status Insert(const Run& run, uint64_t ended_sequence);
  Status InsertLabels(const Run& run);
  // The run right after its submission; nullopt if its first record is not a RunSubmitted.
  StatusOr<std::optional<Run>> ReadSubmitted(const RunId& run);
  // The same with the labels that all its records give it.
  StatusOr<std::optional<Run>> ReadAnnotated(const RunId& run);

  SqliteStatement select_submit_, select_records_, select_ended_, insert_run_, insert_label_,
      delete_run_, delete_labels_;
};

}  // namespace gp::coordinator
