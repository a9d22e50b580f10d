#include "coordinator/state/annotation.h"

namespace gp::coordinator {

void Annotate(const RunAnnotated& change, Run& run) {
  for (const std::string& key : change.removed_labels) run.labels.erase(key);
  for (const auto& [key, value] : change.labels) run.labels[key] = value;
  if (change.note) run.note = *change.note;
}

bool IsAnnotated(const RunAnnotated& change, const Run& run) {
  Run after;
  after.labels = run.labels;
  after.note = run.note;
  Annotate(change, after);
  return after.labels == run.labels && after.note == run.note;
}

}  // namespace gp::coordinator
