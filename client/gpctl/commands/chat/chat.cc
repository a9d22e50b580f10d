// gpctl chat.
#include <memory>
#include <random>

#include "client/gpctl/commands/chat/chat_session.h"
#include "client/gpctl/commands/commands.h"

namespace gp::gpctl {
namespace {

StatusOr<ExitCode> RunChat(const SampleOptions& options, Session& session) {
  if (session.json()) {
    return InvalidArgument("chat is for people; 'gpctl sample -o json' prints a document");
  }
  ChatSession chat(options, session);
  RETURN_IF_ERROR(chat.Open(options.reference));
  return chat.Run();
}

}  // namespace

void AddChatCommand(CommandSet& commands) {
  const Command command = commands.Add(
      "chat", kModelGroup, "Take turns with a model in writing a text, in the terminal");
  auto options = std::make_shared<SampleOptions>();
  options->seed = std::random_device()();
  command.Option("REF", options->reference, "RUN, RUN@STEP, RUN@best, or a checkpoint's directory")
      .Required();
  AddTextFlags(command, *options);
  command.Option("--seed", options->seed, "the same seed gives the same texts (default: random)");
  commands.Bind(command, [options](Session& session) { return RunChat(*options, session); });
}

}  // namespace gp::gpctl
