// gpctl init: a run file that trains as it is.
#include <filesystem>
#include <memory>
#include <sstream>

#include "base/file.h"
#include "base/name_pattern.h"
#include "base/shell_word.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/demo/demo_text.h"
#include "client/gpctl/hint.h"
#include "client/gpctl/render/node_text.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/service/local_service.h"
#include "formats/path_pattern.h"
#include "runspec/preset.h"
#include "runspec/run_file.h"

namespace gp::gpctl {
namespace {

constexpr char kTextToName[] = "input.txt";

struct InitOptions {
  std::string preset = "tiny";
  std::string path;
  std::string text;
  bool list = false;
  bool force = false;
};

// The values that the file sets in addition to the preset.
struct StartingPoint {
  std::vector<std::string> texts;  // absolute paths or patterns; empty: no text was found
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

// A run file that names the preset and shows, as comments, what the preset sets.
std::string StartingFile(const InitOptions& options, const StartingPoint& start) {
  const std::string file = IsPrinted(options) ? "FILE" : ShellWord(options.path);
  const std::vector<std::string> unnamed = {kTextToName};
  const std::vector<std::string>& texts = start.texts.empty() ? unnamed : start.texts;
  std::string out = fmt::format(
      "# {0}. Every key: gpctl explain run. Check this file: gpctl validate {1}\n"
      "apiVersion: gp/v1\n"
      "name: {2}\n"
      "preset: {2}\n"
      "data:\n"
      "  text: {3}  # what to train on; a path may be relative to this file\n"
      "resources:\n"
      "  workers: {4}  # ranks; each is a process that takes one slot of a node and computes with "
      "a "
      "thread on each core of the slot\n"
      "\n"
      "# What the preset sets. A key written in this file wins, and --set on the command line wins "
      "over both.\n",
      runspec::PresetSummary(options.preset), file, options.preset, Json(texts).dump(),
      start.ranks);
  std::istringstream lines{std::string(runspec::PresetText(options.preset))};
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) out += (line.starts_with('#') ? "" : "# ") + line + "\n";
  }
  return out;
}

// Trainers read plain files: what is packed is unpacked into the state directory.
StatusOr<std::string> Unpacked(const std::string& path, const Session& session) {
  constexpr std::string_view kPacked = ".gz";
  if (!path.ends_with(kPacked)) return path;
  ASSIGN_OR_RETURN(const std::string text, ReadDemoText(path));
  const std::string name = BaseNameOf(path);
  const std::string directory = JoinPath(session.StateDirectory(), "text");
  std::string unpacked = JoinPath(directory, name.substr(0, name.size() - kPacked.size()));
  RETURN_IF_ERROR(MakeDirectories(directory, 0700));
  RETURN_IF_ERROR(WriteFileAtomically(unpacked, text, 0600));
  return unpacked;
}

// The patterns of the files of text in `folder`, which data.text reads file by file.
StatusOr<std::vector<std::string>> TextPatternsOf(const std::string& folder) {
  std::vector<std::string> patterns;
  for (const char* end : {".txt", ".txt.gz", ".txt.zst"}) {
    const NamePattern pattern{.folder = JoinPath(folder, ""), .pattern = std::string("*") + end};
    ASSIGN_OR_RETURN(const std::vector<std::string> found, MatchingPaths(pattern));
    if (!found.empty()) patterns.push_back(pattern.folder + pattern.pattern);
  }
  if (!patterns.empty()) return patterns;
  return InvalidArgument(
      "--text: {} is a folder without .txt files in it; name its files, for example --text {}",
      folder, ShellWord(JoinPath(folder, "*.md")));
}

// Returns the entries of data.text for --text.
StatusOr<std::vector<std::string>> TextsNamed(const std::string& text, const Session& session) {
  const std::string path = AbsolutePath(text, session.console().working_directory);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return TextPatternsOf(path);
  const bool pattern = !ReadNamePattern(path).pattern.empty();
  if (!pattern && !FileExists(path)) return NotFound("--text: {} does not exist", path);
  RETURN_IF_ERROR(formats::ExpandPatterns({path}, "--text").status());
  if (pattern) return std::vector<std::string>{path};
  ASSIGN_OR_RETURN(const std::string plain, Unpacked(path, session));
  return std::vector<std::string>{plain};
}

// Returns the entries for --text or, without it, the demo's text; empty when this machine lacks
// that.
StatusOr<std::vector<std::string>> ChooseTexts(const InitOptions& options, const Session& session) {
  if (!options.text.empty()) return TextsNamed(options.text, session);
  const auto found = FindDemoText(DemoTextPlaces(session.console().program_directory));
  if (!found.ok()) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const std::string plain, Unpacked(*found, session));
  return std::vector<std::string>{plain};
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

Status Write(const InitOptions& options, const std::string& text, Session& session) {
  Console& console = session.console();
  if (IsPrinted(options)) {
    console.out << text;
    return OkStatus();
  }
  const std::string path = AbsolutePath(options.path, console.working_directory);
  if (FileExists(path) && !options.force) {
    return AlreadyExists("{} exists already; --force replaces it", options.path);
  }
  RETURN_IF_ERROR(WriteFileAtomically(path, text));
  console.err << fmt::format("Wrote {}.\n", options.path)
              << NextText(NextSteps(options.path, session));
  return OkStatus();
}

StatusOr<ExitCode> Init(const InitOptions& options, Session& session) {
  Console& console = session.console();
  if (options.list) {
    console.out << PresetList();
    return ExitCode::kOk;
  }
  if (runspec::PresetText(options.preset).empty()) {
    return InvalidArgument("unknown preset '{}'{}\n'gpctl init --list' shows them.", options.preset,
                           DidYouMean(options.preset, runspec::PresetNames()));
  }
  StartingPoint start;
  ASSIGN_OR_RETURN(start.texts, ChooseTexts(options, session));
  start.ranks = ChooseRanks(options, session);
  RETURN_IF_ERROR(Write(options, StartingFile(options, start), session));
  if (start.texts.empty()) {
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
      commands.Add("init", kRunFileGroup, "Write a run file that trains as it is");
  auto options = std::make_shared<InitOptions>();
  command.Option("FILE", options->path, "where to write it (default, or -: standard output)")
      .Path();
  command.Option("--preset", options->preset,
                 "tiny, shakespeare-char, gpt2-124m, ... (default: tiny)");
  command
      .Option("--text", options->text,
              "text to train on: a file, plain or .gz, a folder of .txt files, or a pattern in "
              "quotes (default: the demo's, the Jargon File)")
      .Path();
  command.Switch("--list", options->list, "show the presets");
  command.Switch("--force", options->force, "replace an existing file");
  commands.Bind(command, [options](Session& session) { return Init(*options, session); });
}

}  // namespace gp::gpctl
