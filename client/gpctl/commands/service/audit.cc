// gpctl audit list, verify, export.
#include <deque>
#include <memory>

#include "base/file.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/access_text.h"

namespace gp::gpctl {
namespace {

constexpr int kListedDefault = 50;

struct AuditOptions {
  int limit = kListedDefault;
  std::string directory;
  std::string expected;  // a hash noted earlier, which the log must still contain
  std::string out;
};

Json RecordFields(const formats::AuditRecord& record) {
  // Reuse the record's line in the log, which is JSON, without the hashes that chain the lines.
  Json json = Json::parse(formats::RenderAuditLine(record, formats::kNoAuditHash));
  json.erase("previous");
  json.erase("hash");
  return json;
}

StatusOr<ExitCode> ListAudit(const AuditOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const auto client, session.NewAccessClient());
  std::deque<formats::AuditRecord> newest;
  Status damaged;
  RETURN_IF_ERROR(client->Audit(0, [&](const std::string& line) {
    const auto parsed = formats::ParseAuditLine(line);
    if (!parsed.ok()) {
      damaged = parsed.status();
      return true;
    }
    newest.push_back(parsed->record);
    if (newest.size() > static_cast<size_t>(options.limit)) newest.pop_front();
    return true;
  }));
  if (session.json()) {
    Json document = Document("AuditRecordList");
    document["items"] = Json::array();
    for (const auto& record : newest) document["items"].push_back(RecordFields(record));
    session.console().out << Pretty(document);
  } else {
    session.console().out << AuditTable({newest.begin(), newest.end()}, session.style());
  }
  if (damaged.ok()) return ExitCode::kOk;
  return WithContext(damaged, "a record could not be shown; 'gpctl audit verify' says where");
}

// Copies the lines unchanged, so that the recipient can verify them.
StatusOr<ExitCode> ExportAudit(const AuditOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const auto client, session.NewAccessClient());
  std::string text;
  uint64_t count = 0;
  RETURN_IF_ERROR(client->Audit(0, [&](const std::string& line) {
    ++count;
    if (options.out.empty()) {
      session.console().out << line << "\n";
    } else {
      text += line + "\n";
    }
    return true;
  }));
  if (options.out.empty()) return ExitCode::kOk;
  const std::string path = AbsolutePath(options.out, session.console().working_directory);
  RETURN_IF_ERROR(WriteFileAtomically(path, text, 0600));
  session.console().err << fmt::format("{} records written to {}\n", count, options.out);
  return ExitCode::kOk;
}

StatusOr<formats::AuditSummary> VerifyRemote(const std::string& expected, Session& session) {
  ASSIGN_OR_RETURN(const auto client, session.NewAccessClient());
  formats::AuditChain chain(expected);
  Status broken;
  RETURN_IF_ERROR(client->Audit(0, [&](const std::string& line) {
    broken = chain.Follow(line).status();
    return broken.ok();
  }));
  RETURN_IF_ERROR(broken);
  return formats::Summarize(chain);
}

Status CheckHash(const std::string& hash) {
  if (hash.empty() ||
      (hash.size() == 64 && hash.find_first_not_of("0123456789abcdef") == std::string::npos)) {
    return OkStatus();
  }
  return InvalidArgument(
      "--expect: a hash has 64 hexadecimal digits, as 'gpctl audit verify' "
      "prints it");
}

// Checks that the log still contains the noted hash.
Status CheckExpected(const std::string& expected, const formats::AuditSummary& summary) {
  if (expected.empty() || summary.wanted_sequence) return OkStatus();
  return DataLoss(
      "no record has the hash {}: either the log was replaced since the hash was noted, or that "
      "record was removed (audit.keep_bytes); the first record kept is {}",
      expected, summary.first);
}

StatusOr<ExitCode> VerifyAudit(const AuditOptions& options, Session& session) {
  RETURN_IF_ERROR(CheckHash(options.expected));
  ASSIGN_OR_RETURN(const formats::AuditSummary summary,
                   options.directory.empty()
                       ? VerifyRemote(options.expected, session)
                       : formats::VerifyAuditDirectory(
                             AbsolutePath(options.directory, session.console().working_directory),
                             options.expected));
  RETURN_IF_ERROR(CheckExpected(options.expected, summary));
  if (session.json()) {
    Json document = Document("AuditVerification");
    document["intact"] = true;
    document["records"] = summary.count;
    document["first"] = summary.first;
    document["last"] = summary.last;
    document["hash"] = summary.hash;
    if (summary.wanted_sequence) document["expected_record"] = *summary.wanted_sequence;
    session.console().out << Pretty(document);
  } else if (summary.count == 0) {
    session.console().out << "intact: the audit log has no records yet\n";
  } else {
    session.console().out << fmt::format("intact: records {} to {}, the last one's hash is {}\n",
                                         summary.first, summary.last, summary.hash);
    if (summary.wanted_sequence) {
      session.console().out << fmt::format("the expected hash is that of record {}\n",
                                           *summary.wanted_sequence);
    }
  }
  return ExitCode::kOk;
}

void AddAuditVerb(CommandSet& commands, Command verb, std::shared_ptr<AuditOptions> options,
                  StatusOr<ExitCode> (*run)(const AuditOptions&, Session&)) {
  commands.Bind(verb, [options, run](Session& session) { return run(*options, session); });
}

}  // namespace

void AddAuditCommands(CommandSet& commands) {
  const Command noun = commands.Add("audit", kAccessGroup, "Show, check and copy the audit log");
  const Command list = commands.AddVerb(noun, "list", "Show the newest changes and refusals");
  auto options = std::make_shared<AuditOptions>();
  list.Option("--limit", options->limit, "how many").Between(1, 100'000).ShowDefault();
  AddAuditVerb(commands, list, options, &ListAudit);
  const Command verify = commands.AddVerb(
      noun, "verify", "Check every record's hash: of the coordinator's log, or of a directory");
  verify.Option("DIRECTORY", options->directory, "audit/ of a coordinator's state directory")
      .Path();
  verify
      .Option("--expect", options->expected,
              "a hash that was printed before: fail unless the log still has that record")
      .TypeName("HASH");
  AddAuditVerb(commands, verify, options, &VerifyAudit);
  const Command copy = commands.AddVerb(noun, "export", "Print the log as JSON lines");
  copy.Option("--out", options->out, "write them to this file (mode 0600)").Path().TypeName("FILE");
  AddAuditVerb(commands, copy, options, &ExportAudit);
}

}  // namespace gp::gpctl
