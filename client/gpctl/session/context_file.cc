#include "client/gpctl/session/context_file.h"

#include <yaml-cpp/yaml.h>

#include "base/file.h"
#include "client/gpctl/service/versioned_file.h"

namespace gp::gpctl {
namespace {

constexpr uint64_t kContextBytesMax = 1 << 20;

FileFormat ContextFormat() { return {}; }

std::string HomeBelow(const Console& console, const char* xdg, const char* fallback) {
  const std::string configured = console.Variable(xdg);
  if (!configured.empty() && configured[0] == '/') return configured;
  return JoinPath(console.Variable("HOME"), fallback);
}

Context ParseContext(const YAML::Node& node) {
  Context context;
  if (node["server"]) context.server = node["server"].as<std::string>();
  if (node["state_dir"]) context.state_dir = node["state_dir"].as<std::string>();
  if (node["token_file"]) context.token_file = node["token_file"].as<std::string>();
  if (node["ca_file"]) context.ca_file = node["ca_file"].as<std::string>();
  if (node["namespace"]) context.run_namespace = node["namespace"].as<std::string>();
  return context;
}

ContextFile ParseContextFile(const YAML::Node& root) {
  ContextFile file;
  if (!root.IsMap()) return file;
  if (root["current"]) file.current = root["current"].as<std::string>();
  for (const auto& entry : root["contexts"]) {
    file.contexts[entry.first.as<std::string>()] = ParseContext(entry.second);
  }
  return file;
}

YAML::Node ToYaml(const Context& context) {
  YAML::Node node;
  node["server"] = context.server;
  if (!context.state_dir.empty()) node["state_dir"] = context.state_dir;
  if (!context.token_file.empty()) node["token_file"] = context.token_file;
  if (!context.ca_file.empty()) node["ca_file"] = context.ca_file;
  if (!context.run_namespace.empty()) node["namespace"] = context.run_namespace;
  return node;
}

StatusOr<YAML::Node> ReadYaml(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadVersionedFile(path, kContextBytesMax, ContextFormat()));
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    return InvalidArgument(
        "{}:{}:{}: {}; expected the YAML that 'gpctl up' writes, delete the file to start afresh",
        path, error.mark.line + 1, error.mark.column + 1, error.msg);
  }
}

template <typename Value>
StatusOr<Value> Parse(const std::string& path, Value (*parse)(const YAML::Node&)) {
  ASSIGN_OR_RETURN(const YAML::Node root, ReadYaml(path));
  try {
    return parse(root);
  } catch (const YAML::Exception& error) {
    return InvalidArgument(
        "{}:{}:{}: {}; expected the YAML that 'gpctl up' writes, delete the file to start afresh",
        path, error.mark.line + 1, error.mark.column + 1, error.msg);
  }
}

std::string Text(const YAML::Node& node) {
  YAML::Emitter emitter;
  emitter << node;
  return std::string("# Written by gpctl.\n") + emitter.c_str() + "\n";
}

}  // namespace

std::string ContextFilePath(const Console& console) {
  return JoinPath(HomeBelow(console, "XDG_CONFIG_HOME", ".config"), "gpctl/config.yaml");
}

std::string DefaultStateDirectory(const Console& console) {
  return JoinPath(HomeBelow(console, "XDG_STATE_HOME", ".local/state"), "gp");
}

StatusOr<ContextFile> LoadContextFile(const std::string& path) {
  if (!FileExists(path)) return ContextFile();
  return Parse(path, &ParseContextFile);
}

Status SaveContextFile(const std::string& path, const ContextFile& file) {
  YAML::Node root;
  root["apiVersion"] = ContextFormat().ApiVersion();
  root["current"] = file.current;
  for (const auto& [name, context] : file.contexts) root["contexts"][name] = ToYaml(context);
  RETURN_IF_ERROR(MakeDirectories(DirectoryOf(path), 0700));
  return WriteFileAtomically(path, Text(root), 0600);
}

StatusOr<Context> LoadStateContext(const std::string& state_dir) {
  const std::string path = JoinPath(state_dir, "context");
  if (!FileExists(path)) {
    return NotFound("no service was started in {}; start one with 'gpctl up --state-dir {}'",
                    state_dir, state_dir);
  }
  return Parse(path, &ParseContext);
}

Status SaveStateContext(const std::string& state_dir, const Context& context) {
  YAML::Node node = ToYaml(context);
  node["apiVersion"] = ContextFormat().ApiVersion();
  return WriteFileAtomically(JoinPath(state_dir, "context"), Text(node), 0600);
}

}  // namespace gp::gpctl
