#include "client/gpctl/commands/chat/chat_settings.h"

#include <charconv>
#include <functional>
#include <variant>

namespace gp::gpctl {
namespace {

struct RealSetting {
  double SampleOptions::*value;
  double least;
  double most;
};
struct WholeSetting {
  int64_t SampleOptions::*value;
  int64_t least;
};
struct SeedSetting {};

struct ChatSetting {
  const char* name;
  std::variant<RealSetting, WholeSetting, SeedSetting> kind;
};

const std::vector<ChatSetting>& Settings() {
  static const std::vector<ChatSetting> settings = {
      {"temperature", RealSetting{&SampleOptions::temperature, 0, 100}},
      {"top-k", WholeSetting{&SampleOptions::top_k, 0}},
      {"top-p", RealSetting{&SampleOptions::top_p, 0, 1}},
      {"min-p", RealSetting{&SampleOptions::min_p, 0, 1}},
      {"presence-penalty", RealSetting{&SampleOptions::presence_penalty, -2, 2}},
      {"frequency-penalty", RealSetting{&SampleOptions::frequency_penalty, -2, 2}},
      {"max-tokens", WholeSetting{&SampleOptions::max_tokens, 1}},
      {"seed", SeedSetting{}}};
  return settings;
}

// Reads `text` as a number. False unless the whole text is one.
template <typename Number>
bool Read(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

struct Setter {
  const ChatCommand& command;
  SampleOptions& options;

  Status operator()(const RealSetting& setting) const {
    double value = 0;
    if (Read(command.argument, value) && value >= setting.least && value <= setting.most) {
      options.*setting.value = value;
      return OkStatus();
    }
    return InvalidArgument("/{} takes a number from {} to {}", command.name, setting.least,
                           setting.most);
  }
  Status operator()(const WholeSetting& setting) const {
    int64_t value = 0;
    if (Read(command.argument, value) && value >= setting.least) {
      options.*setting.value = value;
      return OkStatus();
    }
    return InvalidArgument("/{} takes a whole number, at least {}", command.name, setting.least);
  }
  Status operator()(const SeedSetting&) const {
    uint64_t value = 0;
    if (!Read(command.argument, value)) return InvalidArgument("/seed takes a whole number");
    options.seed = value;
    return OkStatus();
  }
};

struct Shower {
  const SampleOptions& options;

  std::string operator()(const RealSetting& setting) const {
    return fmt::format("{}", options.*setting.value);
  }
  std::string operator()(const WholeSetting& setting) const {
    return fmt::format("{}", options.*setting.value);
  }
  std::string operator()(const SeedSetting&) const { return fmt::format("{}", options.seed); }
};

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

ChatCommand ParseChatCommand(const std::string& line) {
  const size_t space = line.find_first_of(" \t");
  if (space == std::string::npos) return {.name = line.substr(1)};
  return {line.substr(1, space - 1), Trimmed(line.substr(space))};
}

std::vector<std::string> ChatSettingNames() {
  std::vector<std::string> names;
  for (const ChatSetting& setting : Settings()) names.push_back(setting.name);
  return names;
}

Status SetChatSetting(const ChatCommand& command, SampleOptions& options) {
  for (const ChatSetting& setting : Settings()) {
    if (command.name == setting.name) return std::visit(Setter{command, options}, setting.kind);
  }
  return NotFound("there is no setting '{}'", command.name);
}

std::string ChatSettingsText(const SampleOptions& options) {
  std::string text;
  for (const ChatSetting& setting : Settings()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "   ", setting.name,
                        std::visit(Shower{options}, setting.kind));
  }
  return text;
}

}  // namespace gp::gpctl
