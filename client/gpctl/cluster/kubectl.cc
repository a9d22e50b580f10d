#include "client/gpctl/cluster/kubectl.h"

#include "base/file.h"
#include "client/gpctl/service/program_run.h"
#include "client/gpctl/terminal/hint.h"

namespace gp::gpctl {

StatusOr<std::string> FindKubectl(const Console& console) {
  const std::string found = FoundOnPath(console, "kubectl");
  if (!found.empty()) return found;
  return FailedPrecondition(
      "--backend k8s creates the JobSet with kubectl, and there is no program 'kubectl' on $PATH; "
      "install it, or print the JobSet with --dry-run -o yaml and create it where kubectl is");
}

Status CreateObject(const std::string& kubectl, const std::string& text, Console& console) {
  ASSIGN_OR_RETURN(const FileDescriptor file, FileInMemory(text, "kubectl"));
  const ProgramRun run{.program = kubectl,
                       .arguments = {"create", "-f", kFirstDescriptorPath},
                       .descriptors = {file.get()}};
  ASSIGN_OR_RETURN(
      const int code,
      RunProgram(run, console.interruption, [&](const std::string& said) { console.err << said; }));
  if (code == 0) return OkStatus();
  return FailedPrecondition("kubectl did not create the JobSet (exit code {}); its output is above",
                            code);
}

}  // namespace gp::gpctl
