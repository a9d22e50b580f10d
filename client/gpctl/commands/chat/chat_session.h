// ChatSession: a text that a model and a person write in turns, in the terminal. A typed line is
// added to the text, and the model continues it; after an empty line the model just continues;
// lines that begin with '/' are commands. Owned by one command; used by its thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "client/api/gateway_client.h"
#include "client/gpctl/commands/chat/chat_settings.h"
#include "client/gpctl/service/private_gateway.h"
#include "client/gpctl/session/served_checkpoint.h"
#include "client/gpctl/session/session.h"
#include "client/gpctl/terminal/line_reader.h"

namespace gp::gpctl {

class ChatSession {
 public:
  ChatSession(SampleOptions options, Session& session);

  // Opens the model of RUN, RUN@STEP, RUN@best or a directory: in the service's gateway if that
  // serves it, else in a gateway that is started here. A directory always takes a gateway of its
  // own.
  Status Open(const std::string& reference);

  // Runs until /quit, the end of the input, a second Ctrl-C at the prompt (the first one only
  // warns), or SIGTERM. Not interactive: also until the first error or Ctrl-C.
  StatusOr<ExitCode> Run();

 private:
  enum class Turn { kNext, kLeave };

  // Reads a line; a '\' at its end joins the next one to it. Nullopt at the end of the input.
  std::optional<std::string> ReadTyped();
  std::optional<std::string> AwaitLine();
  StatusOr<Turn> HandleLine(const std::string& line);
  StatusOr<Turn> Obey(const ChatCommand& command);
  void Add(const std::string& typed);
  Status Continue();
  StatusOr<client::CompletionOptions> NextRequest();
  StatusOr<bool> UseServiceGateway(const ServedCheckpoint& served);
  Status UsePrivateGateway(const ServedCheckpoint& served);
  void Say(const std::string& line);
  void Print(const std::string& text);

  Session& session_;
  SampleOptions options_;
  const bool interactive_;  // in and out are terminals; otherwise only the text is printed
  LineReader lines_;
  std::unique_ptr<PrivateGateway> private_;
  std::unique_ptr<client::GatewayClient> gateway_;
  std::string model_;
  std::string label_;
  std::string text_;
  bool at_line_start_ = true;
  bool leaving_ = false;  // ended by a signal at the prompt: the exit code is kInterrupted
};

}  // namespace gp::gpctl
