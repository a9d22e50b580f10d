// gpctl du.
#include <algorithm>
#include <memory>

#include "base/text/counted_noun.h"
#include "client/api/run_state_name.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/terminal/number_text.h"
#include "client/gpctl/terminal/table.h"
#include "rpc/status.h"

namespace gp::gpctl {
namespace {

constexpr double kLittleSpace = 0.1;  // below this free share of the storage, say what to do

uint64_t TotalOf(const v1::RunDiskUsage& usage) {
  return usage.checkpoint_bytes() + usage.other_bytes();
}

std::string StateOf(const v1::RunDiskUsage& usage) {
  return usage.state() == v1::RUN_STATE_UNSPECIFIED ? "deleted" : client::StateName(usage.state());
}

std::string UsageTable(const std::vector<v1::RunDiskUsage>& usages, Session& session) {
  Table table({{.title = "RUN", .shorten = true},
               {.title = "ID", .rank = 3},
               {.title = "STATE", .rank = 2},
               {.title = "CHECKPOINTS", .align = Align::kRight, .rank = 1},
               {.title = "PINNED", .align = Align::kRight, .rank = 5},
               {.title = "THEIR SIZE", .align = Align::kRight, .rank = 4},
               {.title = "OTHER", .align = Align::kRight, .rank = 4},
               {.title = "TOTAL", .align = Align::kRight}});
  for (const v1::RunDiskUsage& usage : usages) {
    table.AddRow(
        {usage.run_name(), usage.run_id(), StateOf(usage), fmt::format("{}", usage.checkpoints()),
         usage.pinned() == 0 ? "-" : fmt::format("{}", usage.pinned()),
         Bytes(usage.checkpoint_bytes()), Bytes(usage.other_bytes()), Bytes(TotalOf(usage))});
  }
  return table.Render(session.width(), session.utf8());
}

std::string UsageJson(const std::vector<v1::RunDiskUsage>& usages,
                      const v1::DiskUsageResponse& response) {
  Json document = Document("DiskUsage");
  document["items"] = Json::array();
  for (const v1::RunDiskUsage& usage : usages) {
    document["items"].push_back({{"run_id", usage.run_id()},
                                 {"name", usage.run_name()},
                                 {"state", StateOf(usage)},
                                 {"checkpoints", usage.checkpoints()},
                                 {"pinned", usage.pinned()},
                                 {"checkpoint_bytes", usage.checkpoint_bytes()},
                                 {"other_bytes", usage.other_bytes()},
                                 {"total_bytes", TotalOf(usage)}});
  }
  document["storage_bytes"] = response.storage_bytes();
  document["free_storage_bytes"] = response.free_storage_bytes();
  return Pretty(document);
}

// What to do when little space is left: the largest run with checkpoints that a prune may remove,
// and the largest one that has ended.
std::string Advice(const std::vector<v1::RunDiskUsage>& usages, const Session& session) {
  std::string text;
  const auto ended = std::find_if(usages.begin(), usages.end(), [](const auto& usage) {
    return client::IsTerminal(usage.state());
  });
  // A prune keeps the newest, the best and pinned ones; it does not find a deleted run.
  const auto several = std::find_if(usages.begin(), usages.end(), [](const auto& usage) {
    return usage.state() != v1::RUN_STATE_UNSPECIFIED && usage.checkpoints() - usage.pinned() > 2;
  });
  if (several != usages.end()) {
    text += fmt::format("Remove older checkpoints: {}\n",
                        session.Hint("ckpt prune " + several->run_id()));
  }
  if (ended != usages.end()) {
    text +=
        fmt::format("Delete a run that has ended: {}\n", session.Hint("delete " + ended->run_id()));
  }
  return text;
}

// Also of deleted runs whose checkpoints were kept.
StatusOr<v1::DiskUsageResponse> Usage(const std::vector<std::string>& references,
                                      Session& session) {
  ASSIGN_OR_RETURN(client::RunClient * client, session.Client());
  v1::DiskUsageRequest request;
  if (references.empty()) request.set_namespace_(session.NamespaceOfRuns());
  for (const std::string& reference : references) {
    request.add_runs(session.WithNamespace(reference));
  }
  const auto usage = client->DiskUsage(request);
  const StatusCode code = usage.status().code();
  if (code != StatusCode::kNotFound && code != StatusCode::kFailedPrecondition) return usage;
  for (const std::string& reference : references) {
    // Its error says which names are near, or which runs begin so. A deleted run may be there.
    const Status found = session.FindRun(reference).status();
    if (!found.ok() && rpc::ReasonOf(found) != rpc::kRunDeleted) return found;
  }
  return usage;
}

StatusOr<ExitCode> ShowUsage(const std::vector<std::string>& references, Session& session) {
  ASSIGN_OR_RETURN(const v1::DiskUsageResponse response, Usage(references, session));
  const std::vector<v1::RunDiskUsage> usages(response.runs().begin(), response.runs().end());
  const Console& console = session.console();
  if (session.json()) {
    console.out << UsageJson(usages, response);
    return ExitCode::kOk;
  }
  uint64_t total = 0;
  for (const v1::RunDiskUsage& usage : usages) total += TotalOf(usage);
  if (!usages.empty()) console.out << UsageTable(usages, session);
  console.out << fmt::format("{} in {}; {} free of {}\n", Bytes(total),
                             CountedNoun(static_cast<int64_t>(usages.size()), "run"),
                             Bytes(response.free_storage_bytes()), Bytes(response.storage_bytes()));
  const bool little = static_cast<double>(response.free_storage_bytes()) <
                      kLittleSpace * static_cast<double>(response.storage_bytes());
  if (little) console.err << Advice(usages, session);
  return ExitCode::kOk;
}

}  // namespace

void AddDiskUsageCommand(CommandSet& commands) {
  const Command command =
      commands.Add("du", kRunGroup, "Show what runs occupy in the storage, the largest first");
  auto runs = std::make_shared<std::vector<std::string>>();
  command.Option("RUN", *runs, "only these runs: names, ids, unique prefixes of ids, or @last");
  commands.Bind(command, [runs](Session& session) { return ShowUsage(*runs, session); });
}

}  // namespace gp::gpctl
