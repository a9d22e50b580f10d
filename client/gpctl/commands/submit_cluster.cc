#include "client/gpctl/commands/submit_cluster.h"

#include "client/gpctl/cluster/kubectl.h"

namespace gp::gpctl {
namespace {

StatusOr<runspec::RunSpec> SpecOf(const RunFileText& file, const SubmitOptions& options,
                                  Session& session) {
  auto result = CheckRunFileOf(file, options.name, SettingsOf(options), session);
  if (!result.spec) return ProblemsStatus(result);
  if (!session.NamespaceOfRuns().empty()) result.spec->run_namespace = session.NamespaceOfRuns();
  return *std::move(result.spec);
}

// Cancels the run after kubectl has failed, because it would wait for agents that never start.
// Returns the error to report.
Status Withdraw(const v1::Run& run, const Status& problem, Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  const auto cancelled = client->Cancel(run.run_id());
  const std::string end =
      cancelled.ok() ? "was cancelled"
                     : "waits for agents: cancel it with " + session.Hint("cancel " + run.run_id());
  return WithContext(problem, fmt::format("run {} ({}) {}", run.name(), run.run_id(), end));
}

}  // namespace

StatusOr<ExitCode> PrintJobSet(const RunFileText& file, const SubmitOptions& options,
                               Session& session) {
  ASSIGN_OR_RETURN(const runspec::RunSpec spec, SpecOf(file, options, session));
  ASSIGN_OR_RETURN(const std::string text, JobSetText(spec, options.job_set, spec.name,
                                                      spec.run_namespace + "/" + spec.name));
  session.console().out << text;
  return ExitCode::kOk;
}

StatusOr<v1::SubmitResponse> SubmitToCluster(const RunFileText& file, const SubmitOptions& options,
                                             Session& session) {
  // Before submitting the run, check everything that could fail afterwards.
  ASSIGN_OR_RETURN(const runspec::RunSpec spec, SpecOf(file, options, session));
  RETURN_IF_ERROR(JobSetText(spec, options.job_set, spec.name, spec.name).status());
  ASSIGN_OR_RETURN(const std::string kubectl, FindKubectl(session.console()));
  ASSIGN_OR_RETURN(v1::SubmitResponse response, SubmitRunFile(file, options, session));
  const v1::Run& run = response.run();
  ASSIGN_OR_RETURN(const std::string text,
                   JobSetText(spec, options.job_set, spec.name + "-" + run.run_id(), run.run_id()));
  const Status created = CreateObject(kubectl, text, session.console());
  if (created.ok()) return response;
  // Without --request-id, a replayed answer is caused by gpctl's own retry, so the run is new.
  if (!response.replayed() || options.request_id.empty()) return Withdraw(run, created, session);
  // The run belongs to an earlier submit, whose JobSet probably exists.
  session.console().err << "warning: " << Message(created) << "\n";
  return response;
}

}  // namespace gp::gpctl
