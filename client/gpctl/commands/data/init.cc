// gpctl init: writes a run file that trains without edits.
#include <filesystem>
#include <memory>
#include <sstream>

#include "base/check.h"
#include "base/file.h"
#include "base/text/shell_word.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/data/data_check.h"
#include "client/gpctl/data/editor_schema.h"
#include "client/gpctl/data/starting_data.h"
#include "client/gpctl/nanogpt/nanogpt_run_file.h"
#include "client/gpctl/render/node_text.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/service/local_service.h"
#include "client/gpctl/session/run_file_text.h"
#include "client/gpctl/terminal/hint.h"
#include "formats/file_kind.h"
#include "runspec/preset.h"
#include "runspec/run_file.h"

namespace gp::gpctl {
namespace {

using Form = StartingData::Form;

constexpr char kTextToName[] = "input.txt";
constexpr uint64_t kNanogptBytesMax = 1 << 20;

struct InitOptions {
  std::string preset = "tiny";
  std::string path;
  std::vector<std::string> texts;
  bool list = false;
  bool force = false;
  std::string nanogpt;  // a configuration of nanoGPT; empty: a preset is taken
  std::vector<std::string> overrides;
};

// The values that the run file sets in addition to the preset's.
struct StartingPoint {
  StartingData data;
  int ranks = 1;
};

std::string PresetList() {
  std::string out;
  for (const std::string& name : runspec::PresetNames()) {
    out += fmt::format("{:<22}{}\n", name, runspec::PresetSummary(name));
  }
  return out;
}

bool IsPrinted(const InitOptions& options) { return options.path.empty() || options.path == "-"; }

// The lines of the run file below `data:`.
std::string DataText(const InitOptions& options, const StartingData& data) {
  const std::vector<std::string> unnamed = {kTextToName};
  const std::string files = Json(data.files.empty() ? unnamed : data.files).dump();
  constexpr char kRelative[] = "a path may be relative to this file";
  if (data.form == Form::kText) {
    return fmt::format("  text: {}  # what to train on; {}\n", files, kRelative);
  }
  if (data.form == Form::kTokens) {
    return fmt::format(
        "  train: {}  # tokens to train on; {}\n"
        "  tokenizer: {}  # the one that made the tokens\n"
        "  # val: [val.bin]  # the same for validation; without it there is no validation loss\n",
        files, kRelative, Json(data.tokenizer).dump());
  }
  std::string out = fmt::format(
      "  stream: {}  # lines of JSON to train on, read during the run; {}\n"
      "  text_field: text  # the field of each line that holds the text\n"
      "  # val: [held-out.jsonl]  # the same for validation; without it there is no validation "
      "loss\n",
      files, kRelative);
  if (data.by_content) out += "  format: jsonl  # the file names do not show it\n";
  // The tokenizer `chars` is made from the characters of the whole text, but a stream is read
  // during training.
  const bool chars =
      runspec::PresetText(options.preset).find("tokenizer: chars") != std::string_view::npos;
  if (chars) out += "  tokenizer: bytes  # the preset's 'chars' must read the whole text first\n";
  return out;
}

// A run file that names the preset and shows, as comments, what the preset sets.
std::string StartingFile(const InitOptions& options, const StartingPoint& start) {
  const std::string file = IsPrinted(options) ? "FILE" : ShellWord(options.path);
  std::string out = fmt::format(
      "# {0}. Every key: gpctl explain run. Check this file: gpctl validate {1}\n"
      "apiVersion: gp/v1\n"
      "name: {2}\n"
      "preset: {2}\n"
      "data:\n"
      "{3}"
      "resources:\n"
      "  workers: {4}  # ranks; each is a process that takes one slot of a node and computes with "
      "a "
      "thread on each core of the slot\n"
      "\n"
      "# What the preset sets. A key written in this file wins, and --set on the command line wins "
      "over both.\n",
      runspec::PresetSummary(options.preset), file, options.preset, DataText(options, start.data),
      start.ranks);
  std::istringstream lines{std::string(runspec::PresetText(options.preset))};
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) out += (line.starts_with('#') ? "" : "# ") + line + "\n";
  }
  return out;
}

bool HasService(const Session& session) {
  const auto service = session.Service();
  if (!service.ok() || service->server.empty()) return false;
  return service->state_dir.empty() ||
         ServiceRuns(ServiceDirectory(service->state_dir)).value_or(false);
}

// The number of free slots (GPUs or CPU cores) of the node that has most of them.
int MostFreeSlots(const v1::NodesResponse& nodes, bool gpu) {
  int most = 0;
  for (const v1::Node& node : nodes.nodes()) {
    if (node.connected()) most = std::max(most, FreeSlots(node, gpu));
  }
  return most;
}

runspec::RunFileResult Resolve(const InitOptions& options, const StartingPoint& start) {
  return runspec::LoadRunFile(StartingFile(options, start), "run.yaml", {});
}

// The number of ranks that uses every free core of the service's node, or fewer if the batch cannot
// be divided by it.
int ChooseRanks(const InitOptions& options, Session& session) {
  if (!HasService(session)) return 1;  // 'gpctl up' makes one slot of all cores
  GlobalOptions brief = session.options();
  brief.timeout = "2s";
  Session asking(brief, session.console());
  const auto client = asking.Client();
  const auto nodes = client.ok() ? (*client)->Nodes() : client.status();
  if (!nodes.ok()) return 1;
  const auto plain = Resolve(options, {});
  const bool takes_gpus = plain.spec && plain.spec->resources.device != "cpu";
  int ranks = takes_gpus ? MostFreeSlots(*nodes, true) : 0;
  if (ranks == 0) ranks = std::max(1, MostFreeSlots(*nodes, false));
  while (ranks > 1 && !Resolve(options, {.ranks = ranks}).spec) ranks /= 2;
  return ranks;
}

std::vector<std::string> NextSteps(const std::string& file, Session& session) {
  std::vector<std::string> steps = {session.Hint("submit " + ShellWord(file) + " --wait")};
  if (!HasService(session)) steps.insert(steps.begin(), session.Hint("up --detach"));
  return steps;
}

bool IsRunFile(const std::string& path) {
  constexpr std::string_view kFirstKey = "apiVersion:";
  constexpr uint64_t kBytesMax = 1 << 20;
  if (path.ends_with(".yaml") || path.ends_with(".yml")) return true;
  const auto text = ReadFile(path, kBytesMax);
  return text.ok() && (text->starts_with(kFirstKey) ||
                       text->find("\n" + std::string(kFirstKey)) != std::string::npos);
}

// With --text, refuses to replace a file that is not a run file, even with --force: the shell
// expands `--text *.txt` to `--text a.txt b.txt`, which makes b.txt the FILE to write.
Status CheckMayBeWritten(const std::string& path, const InitOptions& options) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return InvalidArgument("{} is a directory; name a file in it", options.path);
  }
  if (!FileExists(path)) return OkStatus();
  if (!options.texts.empty() && !IsRunFile(path)) {
    return AlreadyExists(
        "{} exists already and is not a run file; --text takes one path: repeat it, or quote a "
        "pattern",
        options.path);
  }
  if (options.force) return OkStatus();
  return AlreadyExists("{} exists already; --force replaces it", options.path);
}

// `can_train`: nothing is missing, so the run may be submitted next.
Status Write(const InitOptions& options, const std::string& made, bool can_train,
             Session& session) {
  Console& console = session.console();
  const std::string text = EditorSchemaLine(console.program_directory) + made;
  if (IsPrinted(options)) {
    console.out << text;
    return OkStatus();
  }
  const std::string path = AbsolutePath(options.path, console.working_directory);
  RETURN_IF_ERROR(CheckMayBeWritten(path, options));
  RETURN_IF_ERROR(WriteFileAtomically(path, text));
  console.err << fmt::format("Wrote {}.\n", options.path);
  if (can_train) console.err << NextText(NextSteps(options.path, session));
  return OkStatus();
}

// Prints warnings about lines of JSON, for example if they have their text in another field.
void WarnOfLines(const InitOptions& options, const StartingPoint& start, Console& console) {
  const auto resolved = Resolve(options, start);
  if (!resolved.spec) return;
  const DataCheck data = CheckData(*resolved.spec, "");
  console.Warn(WarningsOf(data));
}

// Chooses the tokenizer for a file of tokens, which does not record it: the tokenizer file beside
// it, otherwise the first of "bytes" and "gpt2" that has all ids in the file. InvalidArgument says
// what is wrong with the file.
Status ChooseTokenizerOfTokens(const InitOptions& options, StartingPoint& start, Console& console) {
  const bool known = !start.data.tokenizer.empty();
  const std::vector<std::string> names = known ? std::vector<std::string>{start.data.tokenizer}
                                               : std::vector<std::string>{"bytes", "gpt2"};
  std::string problem;
  for (const std::string& name : names) {
    start.data.tokenizer = name;
    const auto resolved = Resolve(options, start);
    GP_CHECK(resolved.spec, "a preset is complete with other data, too: {}", name);
    const DataCheck check = CheckData(*resolved.spec, "");
    problem = check.problem;
    if (!check.refused) break;
  }
  if (!problem.empty()) return InvalidArgument("--text: {}", problem);
  if (!known) {
    console.Warn(
        {fmt::format("data.tokenizer: {} is a guess: it has every id in the file; "
                     "name the tokenizer that made them",
                     start.data.tokenizer)});
  }
  return OkStatus();
}

// Refuses settings that gp cannot train with, and prints warnings about the data.
Status CheckTranslated(const InitOptions& options, const NanogptRunFile& made, Console& console) {
  const auto resolved = runspec::LoadRunFile(made.text, "the run file of " + options.nanogpt);
  if (!resolved.spec) return ProblemsStatus(resolved);
  const bool from_scratch = resolved.spec->init_from == runspec::kFromScratch;
  if (made.can_train && from_scratch) console.Warn(WarningsOf(CheckData(*resolved.spec, "")));
  return OkStatus();
}

StatusOr<ExitCode> InitFromNanogpt(const InitOptions& options, Session& session) {
  Console& console = session.console();
  const std::string path = AbsolutePath(options.nanogpt, console.working_directory);
  const auto text = ReadFile(path, kNanogptBytesMax);
  if (!text.ok()) return InvalidArgument("--from-nanogpt: {}", Message(text.status()));
  RETURN_IF_ERROR(formats::RefuseOtherText(options.nanogpt, *text, "a Python file"));
  ASSIGN_OR_RETURN(const NanogptRunFile made,
                   RunFileOfNanogpt({options.nanogpt, *text, options.overrides}, console));
  console.err << fmt::format("{}: translated {} of nanoGPT's keys.\n", options.nanogpt,
                             made.settings);
  for (const std::string& note : made.notes) console.err << "note: " << note << "\n";
  RETURN_IF_ERROR(CheckTranslated(options, made, console));
  RETURN_IF_ERROR(Write(options, made.text, made.can_train, session));
  console.Warn(made.warnings);
  return ExitCode::kOk;
}

StatusOr<ExitCode> Init(const InitOptions& options, Session& session) {
  Console& console = session.console();
  if (options.list) {
    console.out << PresetList();
    return ExitCode::kOk;
  }
  if (!options.nanogpt.empty()) return InitFromNanogpt(options, session);
  if (runspec::PresetText(options.preset).empty()) {
    return InvalidArgument("unknown preset '{}'{}\n'gpctl init --list' shows them.", options.preset,
                           DidYouMean(options.preset, runspec::PresetNames()));
  }
  StartingPoint start;
  ASSIGN_OR_RETURN(start.data, FindStartingData(options.texts, session));
  start.ranks = ChooseRanks(options, session);
  if (start.data.form == Form::kTokens) {
    RETURN_IF_ERROR(ChooseTokenizerOfTokens(options, start, console));
  }
  RETURN_IF_ERROR(Write(options, StartingFile(options, start), /*can_train=*/true, session));
  if (start.data.form == Form::kJsonLines) WarnOfLines(options, start, console);
  if (!start.data.left_out.empty()) console.err << "note: " << start.data.left_out << "\n";
  if (start.data.files.empty()) {
    console.err << fmt::format(
        "warning: the file names {}, which you must supply: no text to train on was found here; "
        "install the Debian package jargon-text, or name a text file of your own with --text\n",
        kTextToName);
  }
  return ExitCode::kOk;
}

}  // namespace

void AddInitCommand(CommandSet& commands) {
  const Command command =
      commands.Add("init", kRunFileGroup, "Write a run file that trains without edits");
  auto options = std::make_shared<InitOptions>();
  command.Option("FILE", options->path, "where to write it (default, or -: standard output)")
      .Path();
  const Flag preset = command.Option("--preset", options->preset,
                                     "tiny, shakespeare-char, gpt2-124m, ... (default: tiny)");
  const Flag text = command
                        .Option("--text", options->texts,
                                "text, lines of JSON or tokens to train on: a file, plain or "
                                "packed, a folder of .txt or "
                                ".jsonl files, or a pattern in quotes; may be repeated (default: "
                                "the demo's, the Jargon "
                                "File)")
                        .Path()
                        .OneValueEach();
  const Flag nanogpt =
      command
          .Option("--from-nanogpt", options->nanogpt,
                  "translate a configuration of nanoGPT, such as config/train_shakespeare_char.py; "
                  "it is read, never executed")
          .Path()
          .Excludes(preset)
          .Excludes(text);
  command
      .Option("--override", options->overrides,
              "with --from-nanogpt: KEY=VALUE, as nanoGPT's --KEY=VALUE; may be repeated")
      .OneValueEach()
      .Needs(nanogpt);
  command.Switch("--list", options->list, "show the presets");
  command.Switch("--force", options->force, "replace an existing file");
  commands.Bind(command, [options](Session& session) { return Init(*options, session); });
}

}  // namespace gp::gpctl
