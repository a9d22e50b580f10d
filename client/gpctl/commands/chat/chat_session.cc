#include "client/gpctl/commands/chat/chat_session.h"

#include <algorithm>
#include <utility>

#include "client/gpctl/commands/models/serve.h"
#include "client/gpctl/terminal/display_text.h"

namespace gp::gpctl {
namespace {

constexpr std::chrono::milliseconds kInputPoll{50};

constexpr char kHelp[] = R"(Type the beginning of a text; the model continues it. Then:
  Enter                continues the text
  text                 is added, and the model continues; end a line with \ to add another
  Ctrl-C               stops generating
  /reset               begins a new text
  /text                shows the whole text
  /show                shows the settings
  /temperature 0.7     changes one; so do /top-k, /top-p, /min-p, /presence-penalty,
                       /frequency-penalty, /max-tokens and /seed
  /model RUN@STEP      continues with another checkpoint
  /quit, Ctrl-D        leave
To begin a text with '/', type '//'.
)";

Status UnknownCommand(const std::string& name) {
  std::vector<std::string> known = {"/help", "/reset", "/text", "/show", "/model", "/quit"};
  for (const std::string& setting : ChatSettingNames()) known.push_back("/" + setting);
  const std::string proposal = DidYouMean("/" + name, known);
  return InvalidArgument("unknown command '/{}'{}", name,
                         proposal.empty() ? "; /help lists them" : proposal);
}

bool EndsInSpace(const std::string& text) { return text.empty() || std::isspace(text.back()); }

}  // namespace

ChatSession::ChatSession(SampleOptions options, Session& session)
    : session_(session),
      options_(std::move(options)),
      interactive_(session.console().in_is_terminal && session.console().out_is_terminal),
      lines_(session.console().in) {}

Status ChatSession::Open(const std::string& reference) {
  ASSIGN_OR_RETURN(const ServedCheckpoint served, FindServed(reference, session_));
  ASSIGN_OR_RETURN(const bool used, UseServiceGateway(served));
  if (!used) RETURN_IF_ERROR(UsePrivateGateway(served));
  label_ = served.model;
  return OkStatus();
}

StatusOr<bool> ChatSession::UseServiceGateway(const ServedCheckpoint& served) {
  const auto address = FindGateway(session_);
  if (!address || served.id.empty()) return false;
  auto gateway = std::make_unique<client::GatewayClient>(
      client::GatewayClientOptions{.address = *address}, session_.console().interruption);
  const Status known = gateway->Tokenize(served.id, "a").status();
  if (known.code() == StatusCode::kCancelled) return known;
  if (!known.ok()) return false;
  gateway_ = std::move(gateway);
  private_.reset();
  model_ = served.id;
  return true;
}

Status ChatSession::UsePrivateGateway(const ServedCheckpoint& served) {
  ASSIGN_OR_RETURN(auto started, StartPrivateGateway(served, {.quiet = true}, session_));
  gateway_ = std::make_unique<client::GatewayClient>(
      client::GatewayClientOptions{.address = started->address()}, session_.console().interruption);
  private_ = std::move(started);
  model_ = served.model;
  return OkStatus();
}

StatusOr<ExitCode> ChatSession::Run() {
  Say(fmt::format("{} on http://{}. Type the beginning of a text; /help lists commands.", label_,
                  gateway_->address()));
  while (const auto line = ReadTyped()) {
    const auto turn = HandleLine(*line);
    if (turn.ok() && *turn == Turn::kLeave) return ExitCode::kOk;
    if (turn.ok()) continue;
    // The first problem ends a chat driven by a script; a person can continue.
    if (!interactive_) return turn.status();
    Say("error: " + Message(turn.status()));
  }
  if (interactive_) session_.console().out << std::endl;
  return leaving_ ? ExitCode::kInterrupted : ExitCode::kOk;
}

std::optional<std::string> ChatSession::ReadTyped() {
  if (interactive_) session_.console().out << "> " << std::flush;
  std::string typed;
  while (const auto line = AwaitLine()) {
    typed += *line;
    if (!typed.ends_with('\\')) return typed;
    typed.back() = '\n';
    if (interactive_) session_.console().out << "... " << std::flush;
  }
  return typed.empty() ? std::nullopt : std::optional(typed);
}

// At the prompt, only the second Ctrl-C ends the chat: the first one may be meant for a text that
// ended just before.
std::optional<std::string> ChatSession::AwaitLine() {
  client::Interruption& interruption = session_.console().interruption;
  for (bool warned = false; !lines_.AtEnd();) {
    if (auto line = lines_.Next(kInputPoll)) return line;
    if (!interruption.requested()) continue;
    leaving_ = warned || interruption.leaving() || !interactive_;
    if (leaving_) return std::nullopt;
    interruption.Reset();
    warned = true;
    Say("\nCtrl-C again, Ctrl-D or /quit leaves.");
    session_.console().out << "> " << std::flush;
  }
  return std::nullopt;
}

StatusOr<ChatSession::Turn> ChatSession::HandleLine(const std::string& line) {
  if (line.starts_with('/') && !line.starts_with("//")) return Obey(ParseChatCommand(line));
  Add(line.starts_with("//") ? line.substr(1) : line);
  RETURN_IF_ERROR(Continue());
  return Turn::kNext;
}

StatusOr<ChatSession::Turn> ChatSession::Obey(const ChatCommand& command) {
  const std::string& name = command.name;
  if (name == "quit" || name == "exit" || name == "bye") return Turn::kLeave;
  if (name == "help" || name == "?") {
    session_.console().err << kHelp << std::flush;
  } else if (name == "reset" || name == "clear") {
    text_.clear();
  } else if (name == "text") {
    Print(text_ + "\n");
  } else if (name == "show") {
    session_.console().err << label_ << "   " << ChatSettingsText(options_) << std::endl;
  } else if (name == "model") {
    if (command.argument.empty()) return InvalidArgument("/model takes RUN, RUN@STEP or RUN@best");
    RETURN_IF_ERROR(Open(command.argument));
    Say(fmt::format("{} continues", label_));
  } else if (const Status set = SetChatSetting(command, options_); !set.ok()) {
    if (set.code() != StatusCode::kNotFound) return set;
    return UnknownCommand(name);
  }
  return Turn::kNext;
}

void ChatSession::Add(const std::string& typed) {
  const std::string added = typed.empty() || EndsInSpace(text_) ? typed : " " + typed;
  text_ += added;
  // A person already sees the typed line; without a terminal the output must contain it.
  if (!interactive_) Print(added);
}

Status ChatSession::Continue() {
  const auto request = NextRequest();
  Status status = request.status();
  if (status.ok()) {
    status = gateway_->Complete(*request, [this](int, const std::string& piece) {
      text_ += piece;
      Print(piece);
    });
  }
  if (!at_line_start_) Print("\n");
  client::Interruption& interruption = session_.console().interruption;
  if (status.code() != StatusCode::kCancelled || interruption.leaving() || !interactive_) {
    return status;
  }
  interruption.Reset();
  return OkStatus();
}

// When the text is longer than the model's context, only its end is sent.
StatusOr<client::CompletionOptions> ChatSession::NextRequest() {
  client::CompletionOptions request = ToCompletion(model_, options_);
  request.prompt = text_.empty() ? std::string("\n") : text_;
  ASSIGN_OR_RETURN(client::Tokens tokens,
                   gateway_->Tokenize(model_, std::get<std::string>(request.prompt)));
  if (tokens.context <= 1) return request;
  request.max_tokens = std::min(request.max_tokens, std::max<int64_t>(1, tokens.context / 2));
  const auto room = static_cast<size_t>(tokens.context - request.max_tokens);
  if (tokens.ids.size() <= room) return request;
  tokens.ids.erase(tokens.ids.begin(), tokens.ids.end() - static_cast<std::ptrdiff_t>(room));
  request.prompt = std::move(tokens.ids);
  return request;
}

void ChatSession::Say(const std::string& line) {
  if (interactive_) session_.console().err << line << std::endl;
}

void ChatSession::Print(const std::string& text) {
  if (text.empty()) return;
  const bool terminal = session_.console().out_is_terminal;
  session_.console().out << (terminal ? SafeText(text, session_.utf8()) : text) << std::flush;
  at_line_start_ = text.ends_with('\n');
}

}  // namespace gp::gpctl
