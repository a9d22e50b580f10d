#include "worker/engine/collectives/nccl_api.h"

#include <dlfcn.h>

#include <cstdlib>

namespace gp::engine {
namespace {

constexpr char kVariable[] = "GP_NCCL_LIBRARY";
constexpr char kLibrary[] = "libnccl.so.2";
// The first version in which non-blocking communicators can be aborted reliably.
constexpr int kOldest = 21800;

std::string NameOfLibrary() {
  const char* named = std::getenv(kVariable);
  return named == nullptr || *named == '\0' ? kLibrary : named;
}

void* OpenLibrary(const std::string& name) {
  // RTLD_LOCAL, because LibTorch may have loaded another copy of NCCL.
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  throw NcclUnavailable(std::string("NCCL, which several GPUs use to sum their gradients: ") +
                        dlerror() + "; install it, or set " + kVariable +
                        " to the path of its libnccl.so.2");
}

class Symbols {
 public:
  Symbols(void* library, std::string name) : library_(library), name_(std::move(name)) {}

  void* Find(const char* symbol) const {
    if (void* found = dlsym(library_, symbol)) return found;
    throw NcclUnavailable(name_ + " has no " + symbol + "; gp needs NCCL " +
                          NcclVersionText(kOldest) + " or later");
  }

  template <typename Function>
  void Load(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(Find(symbol));
  }

 private:
  void* library_;
  std::string name_;
};

std::string PathOf(void* symbol, const std::string& name) {
  Dl_info info = {};
  const bool known = dladdr(symbol, &info) != 0 && info.dli_fname != nullptr;
  return known ? info.dli_fname : name;
}

int VersionOf(const Symbols& symbols) {
  decltype(&ncclGetVersion) get_version = nullptr;
  symbols.Load(get_version, "ncclGetVersion");
  int version = 0;
  return get_version(&version) == ncclSuccess ? version : 0;
}

}  // namespace

NcclApi NcclApi::Open(const std::string& library) {
  const Symbols symbols(OpenLibrary(library), library);
  NcclApi api;
  api.path = PathOf(symbols.Find("ncclGetVersion"), library);
  api.version = VersionOf(symbols);
  if (api.version < kOldest) {
    throw NcclUnavailable(api.path + " is NCCL " + NcclVersionText(api.version) + ", gp needs " +
                          NcclVersionText(kOldest) + " or later; set " + kVariable +
                          " to the path of another libnccl.so.2");
  }
  symbols.Load(api.get_unique_id, "ncclGetUniqueId");
  symbols.Load(api.init_rank, "ncclCommInitRankConfig");
  symbols.Load(api.finalize, "ncclCommFinalize");
  symbols.Load(api.destroy, "ncclCommDestroy");
  symbols.Load(api.abort, "ncclCommAbort");
  symbols.Load(api.get_async_error, "ncclCommGetAsyncError");
  symbols.Load(api.error_string, "ncclGetErrorString");
  symbols.Load(api.last_error, "ncclGetLastError");
  symbols.Load(api.all_reduce, "ncclAllReduce");
  symbols.Load(api.broadcast, "ncclBroadcast");
  symbols.Load(api.all_gather, "ncclAllGather");
  symbols.Load(api.send, "ncclSend");
  symbols.Load(api.receive, "ncclRecv");
  symbols.Load(api.group_start, "ncclGroupStart");
  symbols.Load(api.group_end, "ncclGroupEnd");
  return api;
}

const NcclApi& NcclApi::Get() {
  static const NcclApi api = Open(NameOfLibrary());
  return api;
}

std::string NcclVersionText(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace gp::engine
