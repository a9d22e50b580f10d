// gpctl token create, list, revoke; gpctl whoami.
#include <memory>

#include "base/duration.h"
#include "base/file.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/access_text.h"

namespace gp::gpctl {
namespace {

struct TokenOptions {
  bool join = false;
  std::string name;
  std::string role;
  std::string ttl;
  int uses = 1;
  std::string out;
};

constexpr char kJoinTtl[] = "10m";

StatusOr<v1::CreateTokenRequest> RequestOf(const TokenOptions& options,
                                           const std::string& run_namespace) {
  v1::CreateTokenRequest request;
  request.set_kind(options.join ? "join" : "user");
  request.set_name(options.name.empty() && options.join ? "node" : options.name);
  if (options.join && !options.role.empty()) {
    return InvalidArgument("--join makes a token for a node, which has no role");
  }
  if (!options.join && (options.name.empty() || options.role.empty())) {
    return InvalidArgument(
        "a user's token takes --name WHOM and --role ROLE; --join makes a node's");
  }
  if (!options.join && options.uses != 1) {
    return InvalidArgument(
        "--uses needs --join: it limits how many machines may join with the token");
  }
  if (options.join) {
    request.set_uses_max(options.uses);
  } else {
    (*request.mutable_roles())[run_namespace.empty() ? "default" : run_namespace] = options.role;
  }
  const std::string ttl = options.ttl.empty() && options.join ? kJoinTtl : options.ttl;
  if (ttl.empty()) return request;
  ASSIGN_OR_RETURN(const auto duration, ParseDuration(ttl));
  request.set_ttl_seconds(std::chrono::duration_cast<std::chrono::seconds>(duration).count());
  if (request.ttl_seconds() > 0) return request;
  return InvalidArgument("--ttl {}: expected a second or more, such as 10m or 90d", ttl);
}

// Revokes a new token that could not be written. Returns the outcome as text for the error message.
std::string Revoke(const v1::TokenInfo& token, client::AccessClient& client) {
  if (client.RevokeToken(token.id()).ok()) {
    return fmt::format("the new token {} was revoked again", token.id());
  }
  return fmt::format(
      "the new token {} is valid but was not handed out; revoke it with 'gpctl token revoke {}'",
      token.id(), token.id());
}

Status KeepToken(const v1::CreateTokenResponse& created, const std::string& out,
                 client::AccessClient& client, const Session& session) {
  const Status written = WriteFileAtomically(AbsolutePath(out, session.console().working_directory),
                                             created.token() + "\n", 0600);
  if (written.ok()) return written;
  return WithContext(written, fmt::format("--out {}: {}", out, Revoke(created.info(), client)));
}

// Creates a token and writes it to the file, or to stdout with nothing else there, so that it can
// be redirected.
StatusOr<ExitCode> CreateToken(const TokenOptions& options, Session& session) {
  ASSIGN_OR_RETURN(const v1::CreateTokenRequest request, RequestOf(options, session.Namespace()));
  ASSIGN_OR_RETURN(const auto client, session.NewAccessClient());
  ASSIGN_OR_RETURN(const v1::CreateTokenResponse created, client->CreateToken(request));
  const v1::TokenInfo& info = created.info();
  const Console& console = session.console();
  if (!options.out.empty()) RETURN_IF_ERROR(KeepToken(created, options.out, *client, session));
  if (session.json()) {
    Json fields = TokenFields(info);
    if (options.out.empty()) fields["token"] = created.token();
    console.out << Pretty(With("Token", fields));
  } else if (options.out.empty()) {
    console.out << created.token() << "\n";
  }
  console.out.flush();
  if (options.out.empty() && !console.out.good()) {
    console.err << Revoke(info, *client) << "\n";
    return ExitCode::kFailure;
  }
  if (session.json()) return ExitCode::kOk;
  console.err << fmt::format("{} token {} for {}{}. {}\n", info.kind(), info.id(), info.name(),
                             options.join ? "" : ": " + RolesText(info.roles()),
                             options.out.empty()
                                 ? "It is shown only once; revoke it with 'gpctl token revoke'."
                                 : "Written to " + options.out + ".");
  return ExitCode::kOk;
}

StatusOr<ExitCode> ListTokens(Session& session) {
  ASSIGN_OR_RETURN(const auto client, session.NewAccessClient());
  ASSIGN_OR_RETURN(const v1::ListTokensResponse listed, client->ListTokens());
  if (session.json()) {
    Json document = Document("TokenList");
    document["items"] = Json::array();
    for (const v1::TokenInfo& token : listed.tokens()) {
      document["items"].push_back(TokenFields(token));
    }
    session.console().out << Pretty(document);
  } else if (listed.tokens().empty()) {
    session.console().err << "There is no token of a namespace that you administer.\n";
  } else {
    session.console().out << TokenTable({listed.tokens().begin(), listed.tokens().end()},
                                        session.Now(), session.style());
  }
  return ExitCode::kOk;
}

StatusOr<ExitCode> RevokeToken(const std::string& id, Session& session) {
  ASSIGN_OR_RETURN(const auto client, session.NewAccessClient());
  ASSIGN_OR_RETURN(const v1::TokenInfo token, client->RevokeToken(id));
  session.console().PrintChange(
      session.json() ? Pretty(With("Token", TokenFields(token)))
                     : fmt::format("token {} ({}) is revoked\n", token.id(), token.name()));
  return ExitCode::kOk;
}

StatusOr<ExitCode> WhoAmI(Session& session) {
  ASSIGN_OR_RETURN(const auto client, session.NewAccessClient());
  ASSIGN_OR_RETURN(const v1::WhoAmIResponse caller, client->WhoAmI());
  session.console().out << (session.json() ? Pretty(With("Caller", CallerFields(caller)))
                                           : fmt::format("{}: {}\n", caller.name(),
                                                         RolesText(caller.roles())));
  return ExitCode::kOk;
}

void AddCreateVerb(CommandSet& commands, Command noun) {
  const Command create = commands.AddVerb(
      noun, "create", "Make a token and print it once: for a user, or with --join for a node");
  auto options = std::make_shared<TokenOptions>();
  create.Switch("--join", options->join, "for a machine that joins as a node");
  create
      .Option("--uses", options->uses,
              "with --join: how many machines may join with it (default: 1)")
      .Between(1, 1000)
      .TypeName("COUNT");
  create.Option("--name", options->name, "user or purpose of the token").TypeName("NAME");
  create
      .Option("--role", options->role,
              "what its holder may do in --namespace ('*': in every namespace)")
      .OneOf({"viewer", "submitter", "operator", "admin"});
  create
      .Option("--ttl", options->ttl, "lifetime, such as 10m or 90d (default for a user: unlimited)")
      .TypeName("DURATION");
  create.Option("--out", options->out, "write it to this file (mode 0600) instead of printing it")
      .Path()
      .TypeName("FILE");
  commands.Bind(create, [options](Session& session) { return CreateToken(*options, session); });
}

}  // namespace

void AddTokenCommands(CommandSet& commands) {
  const Command noun = commands.Add("token", kAccessGroup, "Make, list and revoke tokens");
  AddCreateVerb(commands, noun);
  const Command list = commands.AddVerb(noun, "list", "Show the tokens, without their secrets");
  commands.Bind(list, [](Session& session) { return ListTokens(session); });
  const Command revoke =
      commands.AddVerb(noun, "revoke", "Revoke a token; its open calls end within seconds");
  auto id = std::make_shared<std::string>();
  revoke.Option("ID", *id, "id from 'gpctl token list'").Required();
  commands.Bind(revoke, [id](Session& session) { return RevokeToken(*id, session); });
  const Command whoami =
      commands.Add("whoami", kAccessGroup, "Show your user name and roles at the coordinator");
  commands.Bind(whoami, [](Session& session) { return WhoAmI(session); });
}

}  // namespace gp::gpctl
