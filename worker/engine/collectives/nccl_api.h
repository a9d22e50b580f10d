// NcclApi: the functions of NCCL that gp calls, found in a library that is opened at run time, so
// that a program starts without it and trains on one GPU. Opened once per process and never closed;
// any thread may call.
#pragma once

#include <nccl.h>

#include <stdexcept>
#include <string>

namespace gp::engine {

// The library is missing, too old, or lacks a function.
class NcclUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct NcclApi {
  std::string path;  // where the dynamic linker found the library
  int version = 0;   // 22809: 2.28.9

  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&ncclCommFinalize) finalize = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclCommGetAsyncError) get_async_error = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  decltype(&ncclGetLastError) last_error = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;

  // Opens `library`, a path or a name that the system searches for. NcclUnavailable lists what was
  // tried and what to do.
  static NcclApi Open(const std::string& library);

  // The library in $GP_NCCL_LIBRARY, or else libnccl.so.2; the first call opens it.
  static const NcclApi& Get();
};

// "2.28.9".
std::string NcclVersionText(int version);

}  // namespace gp::engine
