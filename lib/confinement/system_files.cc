#include <link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/name_pattern.h"
#include "confinement/file_rules.h"

namespace gp::confinement {
namespace {

// Libraries that are opened later, locales, time zones, and the files of the host name resolver.
constexpr std::array kShared = {"/lib",
                                "/lib64",
                                "/usr/lib",
                                "/usr/lib64",
                                "/usr/local/lib",
                                "/usr/share",
                                "/etc/ld.so.cache",
                                "/etc/ld.so.preload",
                                "/etc/localtime",
                                "/etc/nsswitch.conf",
                                "/etc/hosts",
                                "/etc/host.conf",
                                "/etc/gai.conf",
                                "/etc/resolv.conf",
                                "/etc/services",
                                "/etc/protocols"};

// The files of /proc in this list show nothing about other processes.
constexpr std::array kMachine = {
    "/proc/self",        "/proc/cpuinfo", "/proc/meminfo",  "/proc/stat",   "/proc/devices",
    "/proc/filesystems", "/proc/modules", "/proc/version",  "/proc/driver", "/proc/sys",
    "/proc/cgroups",     "/proc/loadavg", "/sys/devices",   "/sys/class",   "/sys/bus",
    "/sys/fs/cgroup",    "/sys/module",   "/sys/kernel/mm", "/dev/urandom", "/dev/random",
    "/dev/cpu"};

// NCCL reads its settings, makes its files in /dev/shm and looks for InfiniBand. The driver's
// libraries lie in /usr/local/nvidia in GKE's containers, in /run/opengl-driver on NixOS, and in
// /usr/lib/wsl under Windows, whose device is /dev/dxg.
constexpr std::array kOfGpus = {"/etc/nccl.conf", "/etc/libibverbs.d", "/usr/local/cuda",
                                "/usr/local/nvidia", "/run/opengl-driver"};
constexpr const char* kLinkedDriver = "/run/opengl-driver/lib";  // of links into Nix' store
constexpr std::array kGpuDevices = {"/dev/nvidia*",    "/dev/nvidia-caps", "/dev/dri",
                                    "/dev/infiniband", "/dev/gdrdrv",      "/dev/dxg"};

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int AddLibraryDirectory(dl_phdr_info* info, size_t, void* directories) {
  const std::string path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (path.starts_with('/')) {
    static_cast<std::set<std::string>*>(directories)->insert(DirectoryOf(path));
  }
  return 0;
}

// Directories that the loader searches first for libraries that are opened later.
void AddLibraryPath(std::set<std::string>& directories) {
  std::istringstream entries(Variable("LD_LIBRARY_PATH"));
  for (std::string entry; std::getline(entries, entry, ':');) {
    if (entry.starts_with('/') && entry != "/") directories.insert(entry);
  }
}

// Package managers may link libraries into a directory from a store elsewhere (uv with
// --link-mode=symlink, Nix). A rule for the directory does not cover those files.
void AddLinkedLibraries(const std::string& directory, std::vector<std::string>& readable) {
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;  // a broken link is skipped
    const bool library = entry->path().filename().string().find(".so") != std::string::npos;
    if (!library || !entry->is_symlink(ignored)) continue;
    const std::string file = std::filesystem::canonical(entry->path(), ignored).string();
    if (!ignored && DirectoryOf(file) != directory) readable.push_back(file);
  }
}

bool IsShared(const std::string& directory) {
  return std::any_of(kShared.begin(), kShared.end(), [&](const std::string& shared) {
    return (directory + "/").starts_with(shared + "/");
  });
}

// An installation has bin/ beside share/gp; a build tree is below the source tree with .deps/,
// which holds GPT-2's vocabulary.
void AddProgram(std::vector<std::string>& readable) {
  std::error_code error;
  auto directory = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (directory.has_relative_path()) readable.push_back(directory.string());
  for (; directory.has_relative_path(); directory = directory.parent_path()) {
    readable.push_back(JoinPath(directory.string(), "share/gp"));
    readable.push_back(JoinPath(directory.string(), ".deps/venv/lib"));
  }
}

// GPT-2's vocabulary, which may lie elsewhere, and what `gp-bench tune` measured.
void AddOwnFiles(std::vector<std::string>& readable) {
  for (const char* name : {"GP_GPT2_VOCAB", "GP_NCCL_LIBRARY", "NCCL_CONF_FILE"}) {
    if (!Variable(name).empty()) readable.push_back(Variable(name));
  }
  if (!Variable("XDG_CACHE_HOME").empty()) {
    readable.push_back(JoinPath(Variable("XDG_CACHE_HOME"), "gp"));
  } else if (!Variable("HOME").empty()) {
    readable.push_back(JoinPath(Variable("HOME"), ".cache/gp"));
  }
}

void AddMatches(const char* pattern, std::vector<std::string>& paths) {
  const auto found = MatchingPaths({.pattern = pattern});
  if (found.ok()) paths.insert(paths.end(), found->begin(), found->end());
}

}  // namespace

FileRules SystemFiles(bool gpus) {
  FileRules files;
  files.readable.assign(kShared.begin(), kShared.end());
  files.readable.insert(files.readable.end(), kMachine.begin(), kMachine.end());
  std::set<std::string> libraries;
  dl_iterate_phdr(AddLibraryDirectory, &libraries);
  AddLibraryPath(libraries);
  for (const std::string& directory : libraries) {
    files.readable.push_back(directory);
    if (!IsShared(directory)) AddLinkedLibraries(directory, files.readable);
  }
  AddProgram(files.readable);
  AddOwnFiles(files.readable);
  files.devices = {"/dev/null", "/dev/zero", "/dev/full"};
  if (!gpus) return files;
  files.readable.insert(files.readable.end(), kOfGpus.begin(), kOfGpus.end());
  AddLinkedLibraries(kLinkedDriver, files.readable);
  for (const char* pattern : kGpuDevices) AddMatches(pattern, files.devices);
  files.writable.push_back("/dev/shm");
  // CUDA names its threads through /proc/self/task/ID/comm, and fails with error 304 when it
  // cannot.
  files.overwritable.push_back("/proc/self/task");
  if (!Variable("CUDA_CACHE_PATH").empty()) files.writable.push_back(Variable("CUDA_CACHE_PATH"));
  return files;
}

}  // namespace gp::confinement
