#include "client/gpctl/cluster/kubectl.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "client/gpctl/service/program_run.h"
#include "client/gpctl/terminal/hint.h"
#include "daemon/child_process.h"

namespace gp::gpctl {
namespace {

// The text as a file in memory that only this process and its children can open.
StatusOr<FileDescriptor> FileInMemory(const std::string& text) {
  FileDescriptor file(memfd_create("object", MFD_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "make a file in memory for", "kubectl");
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return ErrnoStatus(errno, "write a file in memory for", "kubectl");
  }
  return file;
}

}  // namespace

StatusOr<std::string> FindKubectl(const Console& console) {
  const std::string found = FoundOnPath(console, "kubectl");
  if (!found.empty()) return found;
  return FailedPrecondition(
      "--backend k8s creates the JobSet with kubectl, and there is no program 'kubectl' on $PATH; "
      "install it, or print the JobSet with --dry-run -o yaml and create it where kubectl is");
}

Status CreateObject(const std::string& kubectl, const std::string& text, Console& console) {
  ASSIGN_OR_RETURN(const FileDescriptor file, FileInMemory(text));
  const ProgramRun run{
      .program = kubectl,
      .arguments = {"create", "-f", fmt::format("/dev/fd/{}", daemon::kFirstChildDescriptor)},
      .descriptors = {file.get()}};
  ASSIGN_OR_RETURN(
      const int code,
      RunProgram(run, console.interruption, [&](const std::string& said) { console.err << said; }));
  if (code == 0) return OkStatus();
  return FailedPrecondition("kubectl did not create the JobSet (exit code {}); its output is above",
                            code);
}

}  // namespace gp::gpctl
