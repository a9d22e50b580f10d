// gpctl tensorboard.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/file.h"
#include "client/gpctl/commands/commands.h"
#include "client/gpctl/service/program_run.h"
#include "client/gpctl/session/named_runs.h"
#include "client/gpctl/terminal/hint.h"

namespace gp::gpctl {
namespace {

struct TensorBoardOptions {
  std::vector<std::string> runs;
  int port = 6006;
};

constexpr char kProgram[] = "tensorboard";
constexpr std::chrono::seconds kEndGrace{5};  // for TensorBoard to end its own programs

StatusOr<std::string> FindTensorBoard(const Console& console) {
  const std::string program = FoundOnPath(console, kProgram);
  if (!program.empty()) return program;
  return FailedPrecondition(
      "TensorBoard is not installed: there is no program 'tensorboard' on $PATH; install it with "
      "'sudo apt install pipx && pipx install tensorboard', or draw the curves with 'gpctl plot'");
}

bool HasEvents(const std::string& directory) {
  const auto names = ListDirectory(directory);
  return names.ok() && std::any_of(names->begin(), names->end(), [](const std::string& name) {
           return name.find("tfevents") != std::string::npos;
         });
}

// A name without characters that mean something in a path.
std::string LinkName(const std::string& label) {
  std::string name = label;
  std::replace(name.begin(), name.end(), '/', '_');
  return name.starts_with('.') ? "_" + name : name;
}

// A directory with a link to each run's directory, named after the run. Removed with this object.
class RunLinks {
 public:
  static StatusOr<std::unique_ptr<RunLinks>> Make() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "gp-tensorboard-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) return ErrnoStatus(errno, "make", pattern);
    return std::unique_ptr<RunLinks>(new RunLinks(pattern));
  }
  ~RunLinks() {
    const Status removed = RemoveTree(path_);  // links are removed, not followed
    (void)removed;
  }
  RunLinks(const RunLinks&) = delete;
  RunLinks& operator=(const RunLinks&) = delete;

  Status Add(const std::string& label, const std::string& directory) {
    const std::string link = JoinPath(path_, LinkName(label));
    if (symlink(directory.c_str(), link.c_str()) == 0) return OkStatus();
    return ErrnoStatus(errno, "make the link", link);
  }

  const std::string& path() const { return path_; }

 private:
  explicit RunLinks(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

Status AddLinks(const TensorBoardOptions& options, RunLinks& links, Session& session) {
  ASSIGN_OR_RETURN(const std::vector<NamedRun> runs, FindRuns(options.runs, session));
  bool any = false;
  for (const NamedRun& one : runs) {
    const std::string& directory = one.run.run_directory();
    if (!FileExists(directory)) {
      return FailedPrecondition(
          "the directory of {}, {}, is not on this machine; run 'gpctl tensorboard' where the "
          "service's storage is mounted",
          one.label, directory);
    }
    if (HasEvents(directory)) {
      RETURN_IF_ERROR(links.Add(one.label, directory));
      any = true;
    } else {
      session.console().Warn({NoPointsText(one, session.Now())});
    }
  }
  return any ? OkStatus() : FailedPrecondition("there are no event files to show yet");
}

StatusOr<ExitCode> ShowTensorBoard(const TensorBoardOptions& options, Session& session) {
  Console& console = session.console();
  ASSIGN_OR_RETURN(const std::string program, FindTensorBoard(console));
  ASSIGN_OR_RETURN(const auto links, RunLinks::Make());
  RETURN_IF_ERROR(AddLinks(options, *links, session));
  console.err << fmt::format("starting TensorBoard: http://localhost:{}/  (Ctrl-C ends it)\n",
                             options.port)
              << std::flush;
  const ProgramRun run{
      .program = program,
      .arguments = {"--logdir", links->path(), "--port", std::to_string(options.port)},
      .grace = kEndGrace};
  const auto code = RunProgram(run, console.interruption,
                               [&](const std::string& said) { console.out << said << std::flush; });
  if (code.status().code() == StatusCode::kCancelled) return ExitCode::kOk;
  RETURN_IF_ERROR(code.status());
  if (*code == 0) return ExitCode::kOk;
  return FailedPrecondition("TensorBoard ended with code {}; its output is above", *code);
}

}  // namespace

void AddTensorBoardCommand(CommandSet& commands) {
  const Command command =
      commands.Add("tensorboard", kRunGroup, "Show runs in TensorBoard, where it is installed");
  auto options = std::make_shared<TensorBoardOptions>();
  command.Option("RUN", options->runs, "names, ids, unique prefixes of ids, or @last").Required();
  command.Option("--port", options->port, "port on this machine (6006)").Between(1, 65535);
  commands.Bind(command,
                [options](Session& session) { return ShowTensorBoard(*options, session); });
}

}  // namespace gp::gpctl
