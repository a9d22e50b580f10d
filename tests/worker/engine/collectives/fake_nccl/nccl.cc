// A library with NCCL's C API for tests without GPUs: collectives over memory shared by processes
// and threads. It behaves like a non-blocking NCCL communicator: a call returns ncclInProgress, and
// ncclCommGetAsyncError reports completion; a lost peer is a ncclRemoteError detected in the
// background; calls made too early are refused. Reductions add in rank order, identically on each
// rank. Blocking communicators are not supported.
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "worker/engine/collectives/fake_nccl/group.h"

using gp::fake_nccl::Clique;
using gp::fake_nccl::CliqueAddress;
using gp::fake_nccl::kRanksMax;

namespace {

// The calls of a thread since ncclGroupStart.
struct Group {
  int depth = 0;
  std::vector<std::pair<ncclComm_t, FakeWork>> work;
};
thread_local Group group;

}  // namespace

ncclResult_t gp::fake_nccl::Enqueue(ncclComm_t comm, FakeWork work) {
  group.work.emplace_back(comm, std::move(work));
  if (group.depth > 0) return ncclSuccess;
  ++group.depth;
  return ncclGroupEnd();
}

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const auto address = Clique::Make();
  if (!address) return ncclSystemError;
  *id = {};
  std::memcpy(id->internal, &*address, sizeof(*address));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  *comm = nullptr;
  if (config == nullptr || config->blocking != 0) return ncclInvalidUsage;
  if (ranks < 1 || ranks > kRanksMax || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  CliqueAddress address;
  std::memcpy(&address, id.internal, sizeof(address));
  auto clique = Clique::Open(address);
  if (clique == nullptr) return ncclSystemError;
  *comm = new ncclComm(std::move(clique), rank, ranks);
  return ncclInProgress;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (comm == nullptr) return ncclInvalidArgument;
  if (std::getenv("GP_FAKE_NCCL_HANGS_AT_ITS_END") != nullptr) comm->Hang();
  return comm->state();
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm->state() == ncclInProgress) {
    std::fputs("ncclCommDestroy: the communicator is at work; NCCL would free nothing\n", stderr);
    std::abort();
  }
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  if (comm == nullptr) return ncclInvalidArgument;
  *state = comm->state();
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
  }
  return "unknown result code";
}

const char* ncclGetLastError(ncclComm_t comm) { return comm == nullptr ? "" : comm->last_error(); }

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return ncclInvalidUsage;
  if (--group.depth > 0) return ncclSuccess;
  const auto called = std::exchange(group.work, {});
  std::vector<std::pair<ncclComm_t, FakeWork>> together;
  for (const auto& [comm, work] : called) {
    if (together.empty() || together.back().first != comm) together.emplace_back(comm, FakeWork());
    FakeWork& whole = together.back().second;
    whole.messages.insert(whole.messages.end(), work.messages.begin(), work.messages.end());
    whole.finish.insert(whole.finish.end(), work.finish.begin(), work.finish.end());
  }
  for (auto& [comm, work] : together) comm->Post(std::move(work));
  return together.empty() ? ncclSuccess : ncclInProgress;
}

}  // extern "C"
