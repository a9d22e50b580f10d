#include "client/gpctl/commands/candidates.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "client/api/run_state_name.h"
#include "client/gpctl/commands/help.h"
#include "client/gpctl/session/context_file.h"
#include "client/gpctl/session/named_runs.h"
#include "runspec/explain.h"
#include "runspec/preset.h"
#include "runspec/schema.h"

namespace gp::gpctl {
namespace {

constexpr char kFilesLine[] = ":files";
constexpr int kRunsMax = 200;

std::vector<std::string> NamesOf(Flag flag) {
  std::vector<std::string> names;
  std::string name;
  for (const char c : flag.Names() + ",") {
    if (c != ',') {
      name += c;
    } else {
      names.push_back(std::exchange(name, ""));
    }
  }
  return names;
}

std::optional<Flag> FlagNamed(Command command, const std::string& name) {
  for (const Flag flag : command.Flags()) {
    const std::vector<std::string> names = NamesOf(flag);
    if (std::find(names.begin(), names.end(), name) != names.end()) return flag;
  }
  return std::nullopt;
}

std::vector<std::string> CommandWords(Command command) {
  std::vector<std::string> names;
  for (const Command one : command.Commands()) names.push_back(one.Name());
  return names;
}

std::vector<std::string> FlagWords(Command command) {
  std::vector<std::string> names;
  for (const Flag flag : command.Flags()) {
    for (const std::string& name : flag.LongNames()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> StateWords() {
  std::vector<std::string> names;
  for (int state = v1::RunState_MIN + 1; state <= v1::RunState_MAX; ++state) {
    if (v1::RunState_IsValid(state)) names.push_back(client::StateName(v1::RunState(state)));
  }
  return names;
}

// "optimizer.lr=" for every key, or "schedule.kind=cosine" once the key is typed.
std::vector<std::string> SettingWords(const std::string& typed) {
  std::vector<std::string> words;
  const size_t equals = typed.find('=');
  if (equals == std::string::npos) {
    for (const std::string& path : runspec::SchemaPaths()) words.push_back(path + "=");
    return words;
  }
  const runspec::RunField* field = runspec::FindField(typed.substr(0, equals));
  if (field == nullptr) return words;
  std::vector<std::string> values = field->choices;
  if (field->path == "preset") values = runspec::PresetNames();
  runspec::RunSpec defaults;
  const runspec::Slot slot = field->slot(defaults);
  const bool flag =
      std::holds_alternative<bool*>(slot) || std::holds_alternative<std::optional<bool>*>(slot);
  if (flag) values.insert(values.end(), {"true", "false"});
  for (const std::string& value : values) words.push_back(field->path + "=" + value);
  return words;
}

// The keys and groups that `gpctl explain` takes.
std::vector<std::string> KeyWords() {
  std::set<std::string> words = {"run"};
  for (const std::string& path : runspec::SchemaPaths()) {
    words.insert(path);
    const size_t dot = path.find('.');
    if (dot != std::string::npos) words.insert(path.substr(0, dot));
  }
  return {words.begin(), words.end()};
}

class Completer {
 public:
  Completer(Command program, const std::vector<std::string>& words, Console& console)
      : program_(program), command_(program), words_(words), console_(console) {}

  Candidates Complete() {
    if (words_.empty()) return {};
    Walk();
    const std::string& typed = words_.back();
    const size_t equals = typed.find('=');
    if (waiting_) {
      AddValues(*waiting_, typed, "");
    } else if (typed.starts_with("--") && equals != std::string::npos) {
      const auto flag = FlagNamed(command_, typed.substr(0, equals));
      if (flag) AddValues(*flag, typed.substr(equals + 1), typed.substr(0, equals + 1));
    } else if (typed.starts_with('-') && !only_arguments_) {
      Add(FlagWords(command_), typed, "");
    } else if (arguments_ == 0 && !command_.Commands().empty()) {
      Add(CommandWords(command_), typed, "");
    } else {
      AddArguments(typed);
    }
    return std::move(found_);
  }

 private:
  // Goes through the words before the one that is typed: finds the command, the flag whose value
  // comes next, and how many arguments there are.
  void Walk() {
    for (size_t i = 0; i + 1 < words_.size(); ++i) {
      const std::string& word = words_[i];
      if (waiting_) {
        Remember(*waiting_, word);
        waiting_.reset();
      } else if (word == "--") {
        only_arguments_ = true;
      } else if (word.starts_with('-') && word.size() > 1 && !only_arguments_) {
        PassFlag(word);
      } else {
        PassWord(word);
      }
    }
  }

  void PassFlag(const std::string& word) {
    const size_t equals = word.find('=');
    const auto flag = FlagNamed(command_, word.substr(0, equals));
    if (!flag || !flag->TakesValue()) return;
    if (equals == std::string::npos) {
      waiting_ = flag;
    } else {
      Remember(*flag, word.substr(equals + 1));
    }
  }

  void PassWord(const std::string& word) {
    for (const Command one : command_.Commands()) {
      if (!one.IsCalled(word)) continue;
      command_ = one;
      return;
    }
    ++arguments_;
  }

  // The flags that choose the service.
  void Remember(Flag flag, const std::string& value) {
    for (const std::string& name : flag.LongNames()) {
      if (name == "--server") options_.server = value;
      if (name == "--context") options_.context = value;
      if (name == "--state-dir") options_.state_dir = value;
      if (name == "--namespace") options_.run_namespace = value;
    }
  }

  void Add(const std::vector<std::string>& words, const std::string& typed,
           const std::string& before) {
    for (const std::string& word : words) {
      if (word.starts_with(typed)) found_.words.push_back(before + word);
    }
  }

  void AddValues(Flag flag, const std::string& typed, const std::string& before) {
    const std::vector<std::string> names = NamesOf(flag);
    const auto is = [&](const char* name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    std::vector<std::string> words = flag.Choices();
    if (is("--set")) words = SettingWords(typed);
    if (is("--preset")) words = runspec::PresetNames();
    if (is("--state")) words = StateWords();
    if (is("--for")) words = ConditionWords();
    if (is("--context")) words = ContextWords();
    if (is("--y")) words = CurveFields({});
    if (is("--format") && words.empty()) words = {"auto", "hf", "llmc", "nanogpt"};
    if (is("--user") || is("--label") || is("--name")) return;
    Add(words, typed, before);
    found_.files = words.empty();
  }

  static std::vector<std::string> ConditionWords() {
    std::vector<std::string> words = {"finished", "checkpoint", "step=", "loss<", "val_loss<"};
    for (const std::string& state : StateWords()) words.push_back("state=" + state);
    return words;
  }

  std::vector<std::string> ContextWords() const {
    std::vector<std::string> words;
    const auto file = LoadContextFile(ContextFilePath(console_));
    if (!file.ok()) return words;
    for (const auto& [name, context] : file->contexts) words.push_back(name);
    return words;
  }

  // The argument that is typed: the last one of a command may be repeated.
  void AddArguments(const std::string& typed) {
    std::vector<Flag> arguments;
    for (const Flag flag : command_.Flags()) {
      if (flag.IsArgument()) arguments.push_back(flag);
    }
    if (arguments.empty()) return;
    const Flag argument = arguments[std::min(arguments_, arguments.size() - 1)];
    const std::string name = argument.Names();
    if (const auto choices = argument.Choices(); !choices.empty()) {
      Add(choices, typed, "");
    } else if (name == "RUN" || name == "REF") {
      AddRuns(typed, name == "REF");
    } else if (name == "KEY") {
      Add(KeyWords(), typed, "");
    } else if (name == "TOPIC") {
      Add(CommandWords(program_), typed, "");
      Add(HelpTopics(), typed, "");
    } else if (command_.Name() == "use" || name == "NAME") {
      Add(ContextWords(), typed, "");
    } else if (name == "NODE" || name == "WORKER") {
      AddNodes(typed);
    } else if (name != "CHANGE" && name != "TEXT") {
      found_.files = true;
    }
  }

  client::RunClient* Client() {
    options_.timeout = "1s";
    session_ = std::make_unique<Session>(options_, console_);
    const auto client = session_->Client();
    return client.ok() ? *client : nullptr;
  }

  void AddRuns(const std::string& typed, bool also_files) {
    found_.files = also_files;
    client::RunClient* client = Client();
    if (client == nullptr) return;
    const size_t at = typed.find('@');
    if (at != std::string::npos && at > 0) return AddSteps(*client, typed.substr(0, at), typed);
    v1::ListRequest request;
    request.set_include_finished(true);
    request.set_limit(kRunsMax);
    request.set_namespace_(session_->NamespaceOfRuns());
    const auto listed = client->List(request);
    std::vector<std::string> words = {"@last"};
    if (listed.ok()) {
      for (const v1::Run& run : listed->runs()) {
        if (std::find(words.begin(), words.end(), run.name()) == words.end()) {
          words.push_back(run.name());
        }
      }
    }
    Add(words, typed, "");
  }

  void AddSteps(client::RunClient& client, const std::string& run, const std::string& typed) {
    const auto known = client.Checkpoints(run);
    if (!known.ok()) return;
    std::vector<std::string> words = {run + "@best", run + "@latest"};
    for (const v1::Checkpoint& one : known->checkpoints()) {
      words.push_back(fmt::format("{}@{}", run, one.step()));
    }
    Add(words, typed, "");
  }

  void AddNodes(const std::string& typed) {
    client::RunClient* client = Client();
    if (client == nullptr) return;
    const auto nodes = client->Nodes();
    if (!nodes.ok()) return;
    std::vector<std::string> words;
    for (const v1::Node& node : nodes->nodes()) words.push_back(node.name());
    Add(words, typed, "");
  }

  const Command program_;
  Command command_;
  const std::vector<std::string>& words_;
  Console& console_;
  std::optional<Flag> waiting_;  // its value comes next
  bool only_arguments_ = false;  // after "--"
  size_t arguments_ = 0;
  GlobalOptions options_;
  std::unique_ptr<Session> session_;
  Candidates found_;
};

}  // namespace

Candidates CandidatesFor(Command program, const std::vector<std::string>& words, Console& console) {
  return Completer(program, words, console).Complete();
}

std::string CandidateLines(const Candidates& candidates) {
  std::string lines = candidates.files ? std::string(kFilesLine) + "\n" : "";
  for (const std::string& word : candidates.words) lines += word + "\n";
  return lines;
}

}  // namespace gp::gpctl
