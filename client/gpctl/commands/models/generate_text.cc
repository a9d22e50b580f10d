// gpctl data generate.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/durable_rename.h"
#include "base/file.h"
#include "client/gpctl/commands/data/data.h"
#include "client/gpctl/render/run_json.h"
#include "client/gpctl/terminal/number_text.h"
#include "corpus/synthetic_text.h"

namespace gp::gpctl {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

struct GenerateOptions {
  std::string out;
  uint64_t bytes = 0;
  uint64_t seed = 1;
  bool force = false;
};

// Writes documents until the size is reached: lines of JSON if the name says so, otherwise text
// with blank lines between.
Status Generate(const GenerateOptions& options, const std::string& path, Session& session) {
  FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.valid()) return ErrnoStatus(errno, "create", path);
  const bool json = options.out.ends_with(".jsonl");
  corpus::SyntheticText text(options.seed);
  std::string piece;
  for (uint64_t written = 0; written < options.bytes;) {
    if (session.console().interruption.requested()) return Cancelled("interrupted");
    while (piece.size() < kPieceBytes && written + piece.size() < options.bytes) {
      const std::string document = text.NextDocument();
      piece += json ? Json{{"text", document}}.dump() + "\n" : document + "\n\n";
    }
    RETURN_IF_ERROR(WriteAll(file.get(), piece, path));
    written += piece.size();
    piece.clear();
  }
  if (fsync(file.get()) != 0) return ErrnoStatus(errno, "sync", path);
  return OkStatus();
}

StatusOr<ExitCode> GenerateFile(const GenerateOptions& options, Session& session) {
  const std::string path = AbsolutePath(options.out, session.console().working_directory);
  if (FileExists(path) && !options.force) {
    return AlreadyExists("{} exists already; --force replaces it", options.out);
  }
  const std::string partial = path + ".partial";
  Status status = Generate(options, partial, session);
  if (status.ok()) status = RenameDurably(partial, path);
  if (!status.ok()) {
    unlink(partial.c_str());
    return status;
  }
  ASSIGN_OR_RETURN(const uint64_t size, FileSize(path));
  session.console().PrintChange(
      fmt::format("{}  {} of synthetic text, seed {}\n", options.out, Bytes(size), options.seed));
  return ExitCode::kOk;
}

}  // namespace

void AddGenerateVerb(CommandSet& commands, Command data) {
  const Command command = commands.AddVerb(
      data, "generate", "Generate synthetic text of any size, for tests and first runs");
  auto options = std::make_shared<GenerateOptions>();
  command.Option("OUT", options->out, "file; .jsonl: one document per line").Path().Required();
  command.Option("--bytes", options->bytes, "approximate size, such as 500MB or 64MiB")
      .Required()
      .SizeInBytes();
  command.Option("--seed", options->seed, "a different seed gives a different text").ShowDefault();
  command.Switch("--force", options->force, "replace an existing file");
  commands.Bind(command, [options](Session& session) { return GenerateFile(*options, session); });
}

}  // namespace gp::gpctl
