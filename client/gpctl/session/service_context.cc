#include "client/gpctl/session/service_context.h"

#include <fmt/format.h>

#include "base/file.h"
#include "client/gpctl/session/context_file.h"

namespace gp::gpctl {
namespace {

// The name for the service's context: "local" for the default state directory, otherwise the
// directory's name. Appends a number if a context of another service has that name.
std::string ContextName(const ServiceDirectory& directory, const ContextFile& file,
                        const Console& console) {
  const std::string wanted =
      directory.root() == DefaultStateDirectory(console) ? "local" : BaseNameOf(directory.root());
  const auto is_free = [&](const std::string& name) {
    const auto found = file.contexts.find(name);
    return found == file.contexts.end() || found->second.state_dir == directory.root();
  };
  std::string name = wanted;
  for (int number = 2; !is_free(name); ++number) name = fmt::format("{}-{}", wanted, number);
  return name;
}

}  // namespace

void SaveServiceContexts(const ServiceDirectory& directory, const ServiceRecord& record,
                         Session& session) {
  const Console& console = session.console();
  const Context context{.server = record.address, .state_dir = directory.root()};
  Status status = SaveStateContext(directory.root(), context);
  const std::string path = ContextFilePath(console);
  auto file = LoadContextFile(path);
  if (status.ok()) status = file.status();
  if (status.ok()) {
    file->current = ContextName(directory, *file, console);
    file->contexts[file->current] = context;
    status = SaveContextFile(path, *file);
  }
  if (!status.ok())
    session.console().err << "warning: the context was not saved: " << Message(status) << "\n";
}

void ForgetContext(const ServiceDirectory& directory, Session& session) {
  const std::string path = ContextFilePath(session.console());
  auto file = LoadContextFile(path);
  if (!file.ok()) return;
  std::erase_if(file->contexts,
                [&](const auto& entry) { return entry.second.state_dir == directory.root(); });
  if (!file->contexts.contains(file->current)) file->current.clear();
  const Status status = SaveContextFile(path, *file);
  if (!status.ok()) session.console().err << "warning: " << Message(status) << "\n";
}

std::string CurrentContext(const Session& session) {
  const auto file = LoadContextFile(ContextFilePath(session.console()));
  return file.ok() ? file->current : "";
}

void MakeCurrent(const std::string& name, Session& session) {
  const std::string path = ContextFilePath(session.console());
  auto file = LoadContextFile(path);
  if (!file.ok() || !file->contexts.contains(name)) return;
  file->current = name;
  const Status status = SaveContextFile(path, *file);
  if (!status.ok()) session.console().err << "warning: " << Message(status) << "\n";
}

GlobalOptions WithServer(GlobalOptions options, const std::string& address) {
  options.server = address;
  return options;
}

}  // namespace gp::gpctl
