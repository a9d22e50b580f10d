// gpctl login.
#include <memory>

#include "base/duration.h"
#include "base/file.h"
#include "base/text/excerpt.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/access_text.h"
#include "client/gpctl/session/context_name.h"
#include "rpc/listen_address.h"
#include "rpc/token.h"
#include "security/certificate.h"
#include "security/fetched_chain.h"

namespace gp::gpctl {
namespace {

constexpr size_t kDigestCharacters = 64;

struct LoginOptions {
  std::string server;
  std::string token_file;
  std::string ca_file;
  std::string ca_digest;
  std::string context;
};

Status CheckDigest(const std::string& digest) {
  const bool is_hex = digest.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (is_hex && digest.size() == kDigestCharacters) return OkStatus();
  return InvalidArgument(
      "--ca-digest {}: expected {} hexadecimal digits, as 'openssl x509 -in ca.crt -outform der | "
      "sha256sum' prints them",
      Excerpt(digest, kDigestCharacters), kDigestCharacters);
}

// The CA certificate of the server: from the file in --ca, otherwise fetched from the server and
// compared with its expected digest.
StatusOr<std::string> AuthorityPem(const LoginOptions& options, const rpc::Token& token,
                                   Session& session) {
  if (!options.ca_file.empty()) {
    ASSIGN_OR_RETURN(const std::string pem,
                     ReadFile(AbsolutePath(options.ca_file, session.console().working_directory)));
    RETURN_IF_ERROR(
        WithContext(security::Certificate::ChainFromPem(pem).status(), "--ca " + options.ca_file));
    return pem;
  }
  const std::string digest = options.ca_digest.empty() ? token.ca_digest : options.ca_digest;
  if (digest.empty()) {
    return InvalidArgument(
        "the token does not name the coordinator's authority; name it with --ca FILE or "
        "--ca-digest SHA256 (of security/ca.crt in the coordinator's state directory)");
  }
  RETURN_IF_ERROR(CheckDigest(digest));
  ASSIGN_OR_RETURN(const auto address, rpc::ParseListenAddress(options.server));
  ASSIGN_OR_RETURN(const auto timeout, ParseDuration(session.options().timeout));
  ASSIGN_OR_RETURN(const security::Certificate authority,
                   security::FetchAuthority({address.host, address.port}, digest, timeout));
  return authority.Pem();
}

// Writes the token and the CA certificate to files that only this user can read, and returns the
// context that names them.
StatusOr<Context> Keep(const LoginOptions& options, const std::string& name,
                       const rpc::Token& token, Session& session) {
  const std::string directory = DirectoryOf(ContextFilePath(session.console()));
  Context context{.server = options.server,
                  .token_file = JoinPath(directory, name + ".token"),
                  .run_namespace = session.options().run_namespace};
  RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  if (!options.server.starts_with("unix:")) {
    context.ca_file = JoinPath(directory, name + ".crt");
    ASSIGN_OR_RETURN(const std::string authority, AuthorityPem(options, token, session));
    RETURN_IF_ERROR(WriteFileAtomically(context.ca_file, authority, 0600));
  }
  RETURN_IF_ERROR(WriteFileAtomically(context.token_file, rpc::TokenText(token) + "\n", 0600));
  return context;
}

// Asks the coordinator for the identity of the token's holder.
StatusOr<v1::WhoAmIResponse> Try(const Context& context, const rpc::Token& token,
                                 Session& session) {
  client::RunClientOptions options{.address = context.server};
  options.credentials.token = rpc::TokenText(token);
  if (!context.ca_file.empty()) options.tls = rpc::ChannelTls{.ca = context.ca_file};
  ASSIGN_OR_RETURN(const auto timeout, ParseDuration(session.options().timeout));
  options.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
  return client::AccessClient(std::move(options), session.console().interruption).WhoAmI();
}

StatusOr<ExitCode> Login(const LoginOptions& options, Session& session) {
  RETURN_IF_ERROR(CheckServerAddress(options.server));
  // Refuse a relative socket path: the context must work in every directory.
  RETURN_IF_ERROR(rpc::ParseListenAddress(options.server).status());
  const std::string name =
      options.context.empty() ? ContextNameOf(options.server) : options.context;
  RETURN_IF_ERROR(CheckContextName(name));
  const std::string path = AbsolutePath(options.token_file, session.console().working_directory);
  ASSIGN_OR_RETURN(const rpc::Token token, rpc::ReadTokenFile(path));
  if (token.kind != rpc::TokenKind::kUser) {
    return InvalidArgument("{} holds a join token, which is for gp-worker --join-token-file",
                           options.token_file);
  }
  const std::string file_path = ContextFilePath(session.console());
  ASSIGN_OR_RETURN(ContextFile file, LoadContextFile(file_path));
  ASSIGN_OR_RETURN(const Context context, Keep(options, name, token, session));
  const auto caller = Try(context, token, session);
  if (!caller.ok()) {
    if (!file.contexts.contains(name)) RETURN_IF_ERROR(ForgetFiles(context));
    return caller.status();
  }
  file.contexts[name] = context;
  file.current = name;
  RETURN_IF_ERROR(SaveContextFile(file_path, file));
  session.console().PrintChange(
      session.json() ? Pretty(With("Caller", CallerFields(*caller)))
                     : fmt::format("{}: {}. The context {} is the current one.\n", caller->name(),
                                   RolesText(caller->roles()), name));
  return ExitCode::kOk;
}

}  // namespace

void AddLoginCommand(CommandSet& commands) {
  const Command command = commands.Add("login", kAccessGroup,
                                       "Store a coordinator's token and authority for later calls");
  auto options = std::make_shared<LoginOptions>();
  command.Option("ADDRESS", options->server, "HOST:PORT of the coordinator").Required();
  command.Option("--token-file", options->token_file, "file with the token, mode 0600")
      .Path()
      .TypeName("FILE")
      .Required();
  command.Option("--ca", options->ca_file, "certificate of the coordinator's authority")
      .Path()
      .TypeName("FILE");
  command
      .Option("--ca-digest", options->ca_digest,
              "its SHA-256, if the token does not hold it already")
      .TypeName("SHA256");
  command.Option("--as", options->context, "name of the context; HOST:PORT unless given")
      .TypeName("NAME");
  commands.Bind(command, [options](Session& session) { return Login(*options, session); });
}

}  // namespace gp::gpctl
