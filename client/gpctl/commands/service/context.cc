// gpctl context list, use, show, delete.
#include <memory>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/session/context_name.h"
#include "client/gpctl/session/live_contexts.h"
#include "client/gpctl/terminal/display_text.h"
#include "client/gpctl/terminal/table.h"

namespace gp::gpctl {
namespace {

constexpr char kWayToContext[] = "'gpctl login HOST:PORT --token-file FILE' makes one";

Json ContextFields(const std::string& name, const Context& context, bool current) {
  Json json = {{"name", name},
               {"server", context.server},
               {"service", ServiceWord(context)},
               {"current", current}};
  if (!context.state_dir.empty()) json["state_dir"] = context.state_dir;
  if (!context.run_namespace.empty()) json["namespace"] = context.run_namespace;
  if (!context.token_file.empty()) json["token_file"] = context.token_file;
  if (!context.ca_file.empty()) json["ca_file"] = context.ca_file;
  return json;
}

StatusOr<ContextFile> LoadFile(const Session& session) {
  return LoadContextFile(ContextFilePath(session.console()));
}

StatusOr<std::pair<std::string, Context>> FindContext(const ContextFile& file,
                                                      const std::string& wanted) {
  const std::string name = wanted.empty() ? file.current : wanted;
  if (name.empty()) return NotFound("there is no current context; {}", kWayToContext);
  const auto found = file.contexts.find(name);
  if (found != file.contexts.end()) return *found;
  std::vector<std::string> names;
  for (const auto& entry : file.contexts) names.push_back(entry.first);
  if (names.empty()) return NotFound("there is no context '{}'; {}", name, kWayToContext);
  const std::string proposal = DidYouMean(name, names);
  return NotFound("there is no context '{}'{}", name,
                  proposal.empty() ? "; 'gpctl context list' shows all" : proposal);
}

StatusOr<ExitCode> ListContexts(const std::string&, Session& session) {
  ASSIGN_OR_RETURN(const ContextFile file, LoadFile(session));
  if (session.json()) {
    Json document = Document("ContextList");
    document["items"] = Json::array();
    for (const auto& [name, context] : file.contexts) {
      document["items"].push_back(ContextFields(name, context, name == file.current));
    }
    session.console().out << Pretty(document);
    return ExitCode::kOk;
  }
  if (file.contexts.empty()) {
    session.console().err << fmt::format("There is no context yet; {}.\n", kWayToContext);
    return ExitCode::kOk;
  }
  Table table({{.title = ""},
               {.title = "NAME", .shorten = true},
               {.title = "SERVICE"},
               {.title = "NAMESPACE", .rank = 1},
               {.title = "TOKEN", .rank = 2},
               {.title = "SERVER", .shorten = true}});
  for (const auto& [name, context] : file.contexts) {
    table.AddRow({name == file.current ? "*" : "", OneSafeLine(name, session.utf8()),
                  ServiceWord(context), OneSafeLine(context.run_namespace, session.utf8()),
                  context.token_file.empty() ? "no" : "yes",
                  OneSafeLine(context.server, session.utf8())});
  }
  session.console().out << table.Render(session.width(), session.utf8());
  return ExitCode::kOk;
}

StatusOr<ExitCode> ShowContext(const std::string& wanted, Session& session) {
  ASSIGN_OR_RETURN(const ContextFile file, LoadFile(session));
  ASSIGN_OR_RETURN(const auto found, FindContext(file, wanted));
  const Json fields = ContextFields(found.first, found.second, found.first == file.current);
  if (session.json()) {
    session.console().out << Pretty(With("Context", fields));
    return ExitCode::kOk;
  }
  for (const auto& [key, value] : fields.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    session.console().out << fmt::format("{:<12}{}\n", key, OneSafeLine(text, session.utf8()));
  }
  return ExitCode::kOk;
}

StatusOr<ExitCode> UseContext(const std::string& wanted, Session& session) {
  ASSIGN_OR_RETURN(ContextFile file, LoadFile(session));
  ASSIGN_OR_RETURN(const auto found, FindContext(file, wanted));
  file.current = found.first;
  if (!session.options().run_namespace.empty()) {
    file.contexts[found.first].run_namespace = session.options().run_namespace;
  }
  RETURN_IF_ERROR(SaveContextFile(ContextFilePath(session.console()), file));
  session.console().err << fmt::format("The context {} ({}) is the current one.\n", found.first,
                                       found.second.server);
  return ExitCode::kOk;
}

StatusOr<ExitCode> DeleteContext(const std::string& wanted, Session& session) {
  ASSIGN_OR_RETURN(ContextFile file, LoadFile(session));
  ASSIGN_OR_RETURN(const auto found, FindContext(file, wanted));
  file.contexts.erase(found.first);
  if (file.current == found.first) file.current.clear();
  RETURN_IF_ERROR(SaveContextFile(ContextFilePath(session.console()), file));
  RETURN_IF_ERROR(ForgetFiles(found.second));
  session.console().err << fmt::format("Removed the context {} and its token.\n", found.first);
  return ExitCode::kOk;
}

void AddContextVerb(CommandSet& commands, Command noun, const std::string& name,
                    const std::string& summary, bool takes_name, bool required,
                    StatusOr<ExitCode> (*run)(const std::string&, Session&)) {
  const Command verb = commands.AddVerb(noun, name, summary);
  auto wanted = std::make_shared<std::string>();
  if (takes_name) {
    const Flag argument = verb.Option("NAME", *wanted, "name from 'gpctl context list'");
    if (required) argument.Required();
  }
  commands.Bind(verb, [wanted, run](Session& session) { return run(*wanted, session); });
}

}  // namespace

void AddContextCommands(CommandSet& commands) {
  const Command noun =
      commands.Add("context", kAccessGroup, "Show and choose the coordinator that commands use");
  AddContextVerb(commands, noun, "list", "Show the contexts", false, false, &ListContexts);
  AddContextVerb(commands, noun, "use",
                 "Make a context the current one; --namespace sets its default namespace", true,
                 true, &UseContext);
  AddContextVerb(commands, noun, "show", "Show a context (default: the current one)", true, false,
                 &ShowContext);
  AddContextVerb(commands, noun, "delete", "Remove a context and its stored token", true, true,
                 &DeleteContext);
}

}  // namespace gp::gpctl
