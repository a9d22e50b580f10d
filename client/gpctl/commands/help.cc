// gpctl help.
#include "client/gpctl/commands/help.h"

#include <algorithm>
#include <memory>

#include "client/gpctl/commands/commands.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

std::vector<std::string> Groups(Command program) {
  std::vector<std::string> groups;
  for (const Command command : program.Commands()) {
    const std::string group = command.Group();
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  return groups;
}

// The command or verb that `words` name, such as {"token", "create"}; nullopt if there is none.
std::optional<Command> FindCommand(Command program, const std::vector<std::string>& words) {
  Command at = program;
  for (const std::string& word : words) {
    std::optional<Command> next;
    for (const Command command : at.Commands()) {
      if (command.IsCalled(word)) next = command;
    }
    if (!next.has_value()) return std::nullopt;
    at = *next;
  }
  return at;
}

Status UnknownTopic(Command program, const std::string& topic) {
  std::vector<std::string> known = HelpTopics();
  for (const Command command : program.Commands()) known.push_back(command.Name());
  return InvalidArgument("no help on '{}'{}\n'gpctl help' lists commands and topics.", topic,
                         DidYouMean(topic, known));
}

StatusOr<ExitCode> Help(Command program, const std::vector<std::string>& words, Session& session) {
  std::string text = words.size() == 1 ? HelpTopic(words[0]) : "";
  if (words.empty()) text = MainHelp(program);
  if (text.empty()) {
    const std::optional<Command> command = FindCommand(program, words);
    if (!command.has_value()) return UnknownTopic(program, words[0]);
    text = HelpOf(*command);
  }
  if (session.json()) {
    Json document = Document("Help");
    document["text"] = text;
    session.console().out << Pretty(document);
  } else {
    session.console().out << FittedHelp(text, session.console());
  }
  return ExitCode::kOk;
}

}  // namespace

std::string MainHelp(Command program) {
  std::string out =
      "gpctl trains GPT-2-class models: submit runs, watch them, use their checkpoints.\n\n";
  out += "  gpctl demo                      see it all in two minutes on this machine\n";
  out += "  gpctl up --detach               start a service here\n";
  out += "  gpctl submit FILE --wait        train\n";
  out += "  gpctl chat @last                write a text with the trained model\n";
  for (const std::string& group : Groups(program)) {
    out += "\n" + group + "\n";
    for (const Command command : program.Commands()) {
      if (command.Group() != group) continue;
      out += fmt::format("  {:<12}{}\n", command.Name(), command.Summary());
    }
  }
  out += "\nFlags for every command\n";
  for (const Flag flag : program.Flags()) {
    out += fmt::format("  {:<18}{}\n", flag.Names(), flag.Text());
  }
  out += "\nTopics for 'gpctl help TOPIC':";
  for (const std::string& topic : HelpTopics()) out += " " + topic;
  return out + "\n'gpctl help COMMAND' shows a command's flags.\n";
}

std::string FittedHelp(const std::string& text, const Console& console) {
  return console.out_is_terminal ? WrappedBelowText(text, console.Size().columns) : text;
}

void AddHelpCommand(CommandSet& commands) {
  const Command command = commands.Add("help", kOtherGroup, "Explain a command or a topic");
  auto words = std::make_shared<std::vector<std::string>>();
  command.Option("TOPIC", *words, "a command or a topic");
  commands.Bind(command, [words, program = commands.program()](Session& session) {
    return Help(program, *words, session);
  });
}

}  // namespace gp::gpctl
