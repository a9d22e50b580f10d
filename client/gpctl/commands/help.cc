// gpctl help.
#include "client/gpctl/commands/help.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"

namespace gp::gpctl {
namespace {

std::vector<std::string> Groups(const CLI::App& app) {
  std::vector<std::string> groups;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    const std::string& group = command->get_group();
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  return groups;
}

// The command or verb that `words` name; null when there is none.
const CLI::App* FindCommand(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (const std::string& word : words) {
    const CLI::App* next = nullptr;
    for (const CLI::App* command : at->get_subcommands(nullptr)) {
      if (command->check_name(word)) next = command;
    }
    if (next == nullptr) return nullptr;
    at = next;
  }
  return at;
}

Status UnknownTopic(const CLI::App& app, const std::string& topic) {
  std::vector<std::string> known = HelpTopics();
  for (const CLI::App* command : app.get_subcommands(nullptr)) known.push_back(command->get_name());
  return InvalidArgument("no help on '{}'{}\n'gpctl help' lists commands and topics.", topic,
                         DidYouMean(topic, known));
}

StatusOr<ExitCode> Help(const CLI::App& app, const std::vector<std::string>& words,
                        Session& session) {
  std::string text = words.size() == 1 ? HelpTopic(words[0]) : "";
  if (words.empty()) text = MainHelp(app);
  if (text.empty()) {
    const CLI::App* command = FindCommand(app, words);
    if (command == nullptr) return UnknownTopic(app, words[0]);
    text = HelpOf(*command);
  }
  if (session.json()) {
    Json document = Document("Help");
    document["text"] = text;
    text = Pretty(document);
  }
  session.console().out << text;
  return ExitCode::kOk;
}

}  // namespace

std::string MainHelp(const CLI::App& app) {
  std::string out =
      "gpctl trains GPT-2-class models: submit runs, watch them, use their checkpoints.\n\n";
  out += "  gpctl demo                      see it all in two minutes on this machine\n";
  out += "  gpctl up --detach               start a service here\n";
  out += "  gpctl submit FILE --wait        train\n";
  for (const std::string& group : Groups(app)) {
    out += "\n" + group + "\n";
    for (const CLI::App* command : app.get_subcommands(nullptr)) {
      if (command->get_group() != group) continue;
      out += fmt::format("  {:<12}{}\n", command->get_name(), command->get_description());
    }
  }
  out += "\nFlags for every command\n";
  for (const CLI::Option* option : app.get_options(nullptr)) {
    out += fmt::format("  {:<18}{}\n", option->get_name(false, true), option->get_description());
  }
  out += "\nTopics for 'gpctl help TOPIC':";
  for (const std::string& topic : HelpTopics()) out += " " + topic;
  return out + "\n'gpctl help COMMAND' shows a command's flags.\n";
}

void AddHelpCommand(CommandSet& commands) {
  const Command command = commands.Add("help", kOtherGroup, "Explain a command or a topic");
  auto words = std::make_shared<std::vector<std::string>>();
  command.Option("TOPIC", *words, "a command or a topic");
  const CLI::App& app = commands.app();
  commands.Bind(command, [words, &app](Session& session) { return Help(app, *words, session); });
}

}  // namespace gp::gpctl
