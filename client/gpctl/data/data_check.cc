#include "client/gpctl/data/data_check.h"

#include <utility>

#include "base/check.h"
#include "corpus/stream_report.h"
#include "rpc/listen_address.h"
#include "runspec/run_file.h"
#include "tasks/run_tasks.h"

namespace gp::gpctl {

DataCheck CheckData(const runspec::RunSpec& spec, const std::string& server) {
  StatusOr<DataReport> report =
      spec.data.stream.empty() ? InspectData(spec) : corpus::InspectStream(spec);
  const Status tasks = tasks::ReadRunTasks(spec.eval).status();
  if (report.ok() && !tasks.ok()) report = tasks;
  if (report.ok()) return {.report = *std::move(report)};
  const bool only_here = server.empty() || server.starts_with("unix:");
  const bool unsuitable = report.status().code() == StatusCode::kInvalidArgument;
  DataCheck check{.problem = Message(report.status())};
  check.refused = only_here || (unsuitable && rpc::IsLocalAddress(server));
  if (!check.refused) {
    check.problem += fmt::format(" (as seen from here; the workers of {} need it too)", server);
  }
  return check;
}

std::vector<std::string> WarningsOf(const DataCheck& check) {
  std::vector<std::string> warnings =
      check.report ? check.report->warnings : std::vector<std::string>();
  if (!check.problem.empty()) warnings.push_back(check.problem);
  return warnings;
}

void ResolveVocabulary(const DataReport& report, runspec::RunSpec& spec) {
  const Status status = runspec::ApplyVocabulary(report.vocabulary, spec);
  GP_CHECK(status.ok(), "the data's vocabulary was already checked: {}", Message(status));
  spec.vocabulary_auto = false;
}

}  // namespace gp::gpctl
