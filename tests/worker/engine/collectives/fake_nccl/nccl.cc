// A library with NCCL's C API for tests without GPUs: collectives over memory that processes and
// threads share. Its calls, states and errors are those of a non-blocking NCCL communicator: a call
// answers ncclInProgress and ncclCommGetAsyncError says when it is done; a peer that is gone is a
// ncclRemoteError found in the background; calls that come too early are refused. Reductions add in
// the order of the ranks, equally on each. A blocking communicator is not offered.
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "worker/engine/collectives/fake_nccl/comm.h"

using gp::fake_nccl::Clique;
using gp::fake_nccl::CliqueAddress;
using gp::fake_nccl::kRanksMax;
using gp::fake_nccl::Label;
using gp::fake_nccl::Message;

namespace {

enum Operation : uint64_t {
  kAllReduce = 1,
  kReduce,
  kBroadcast,
  kReduceScatter,
  kAllGather,
  kPointToPoint
};

// What a thread has called since ncclGroupStart.
struct Group {
  int depth = 0;
  std::vector<std::pair<ncclComm_t, FakeWork>> work;
};
thread_local Group group;

size_t BytesOf(ncclDataType_t type) {
  switch (type) {
    case ncclFloat32:
      return 4;
    case ncclFloat64:
      return 8;
    default:
      return 1;
  }
}

std::byte* Bytes(const void* memory) {
  return const_cast<std::byte*>(static_cast<const std::byte*>(memory));
}

template <typename T>
void ReduceAs(std::byte* into, const std::byte* from, size_t count, ncclRedOp_t by) {
  T* values = reinterpret_cast<T*>(into);
  const T* others = reinterpret_cast<const T*>(from);
  for (size_t i = 0; i < count; ++i) {
    values[i] = by == ncclMax ? std::max(values[i], others[i]) : values[i] + others[i];
  }
}

// Every rank's values, one after the other; the result replaces those of rank 0.
void ReduceRanks(std::vector<std::byte>& all, size_t count, int ranks, ncclDataType_t type,
                 ncclRedOp_t by) {
  const size_t bytes = count * BytesOf(type);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::byte* from = all.data() + static_cast<size_t>(rank) * bytes;
    if (type == ncclFloat32) {
      ReduceAs<float>(all.data(), from, count, by);
    } else {
      ReduceAs<double>(all.data(), from, count, by);
    }
  }
}

bool CanReduce(ncclDataType_t type, ncclRedOp_t by) {
  return (type == ncclFloat32 || type == ncclFloat64) && (by == ncclSum || by == ncclMax);
}

// The messages of one call.
class Builder {
 public:
  Builder(ncclComm_t comm, Operation operation, size_t bytes) : comm_(comm) {
    const bool collective = operation != kPointToPoint;
    label_ = {operation, collective ? comm->NextNumber() : 0, bytes};
  }

  void Send(int peer, std::byte* from) { Add(peer, true, from); }
  void Receive(int peer, std::byte* to) { Add(peer, false, to); }
  void Finish(std::function<void()> finish) { work_.finish.push_back(std::move(finish)); }

  ncclResult_t Post() {
    group.work.emplace_back(comm_, std::move(work_));
    return group.depth == 0 ? (++group.depth, ncclGroupEnd()) : ncclSuccess;
  }

 private:
  void Add(int peer, bool outgoing, std::byte* memory) {
    work_.messages.push_back({peer, label_, outgoing, {memory, label_.bytes}});
  }

  ncclComm_t comm_;
  Label label_;
  FakeWork work_;
};

// A call that this communicator takes now, with a peer that exists.
ncclResult_t Admit(ncclComm_t comm, int peer = 0) {
  if (comm == nullptr || peer < 0 || peer >= comm->ranks()) return ncclInvalidArgument;
  return comm->Admit();
}

#define RETURN_IF_REFUSED(expression) \
  if (const ncclResult_t refused = (expression); refused != ncclSuccess) return refused

// Every rank's `count` values of `from` to all that `wanted` says; they arrive in rank order.
struct Gathered {
  std::shared_ptr<std::vector<std::byte>> all;
  Builder builder;
};

Gathered GatherAtAll(ncclComm_t comm, Operation operation, const void* from, size_t bytes) {
  Gathered gathered{
      std::make_shared<std::vector<std::byte>>(bytes * static_cast<size_t>(comm->ranks())),
      Builder(comm, operation, bytes)};
  for (int peer = 0; peer < comm->ranks(); ++peer) {
    std::byte* place = gathered.all->data() + static_cast<size_t>(peer) * bytes;
    if (peer == comm->rank()) {
      std::memcpy(place, from, bytes);
      continue;
    }
    gathered.builder.Send(peer, Bytes(from));
    gathered.builder.Receive(peer, place);
  }
  return gathered;
}

}  // namespace

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
  return comm->state();
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
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

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t by, ncclComm_t comm, cudaStream_t) {
  RETURN_IF_REFUSED(Admit(comm));
  if (!CanReduce(type, by)) return ncclInvalidArgument;
  const size_t bytes = count * BytesOf(type);
  Gathered gathered = GatherAtAll(comm, kAllReduce, from, bytes);
  gathered.builder.Finish([=, all = gathered.all, ranks = comm->ranks()] {
    ReduceRanks(*all, count, ranks, type, by);
    std::memcpy(to, all->data(), bytes);
  });
  return gathered.builder.Post();
}

ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                        ncclRedOp_t by, int root, ncclComm_t comm, cudaStream_t) {
  RETURN_IF_REFUSED(Admit(comm, root));
  if (!CanReduce(type, by)) return ncclInvalidArgument;
  const size_t bytes = count * BytesOf(type);
  Gathered gathered = GatherAtAll(comm, kReduce, from, bytes);
  if (comm->rank() == root) {
    gathered.builder.Finish([=, all = gathered.all, ranks = comm->ranks()] {
      ReduceRanks(*all, count, ranks, type, by);
      std::memcpy(to, all->data(), bytes);
    });
  } else {
    gathered.builder.Finish([all = gathered.all] {});  // the memory is received into
  }
  return gathered.builder.Post();
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t) {
  RETURN_IF_REFUSED(Admit(comm, root));
  const size_t bytes = count * BytesOf(type);
  Builder builder(comm, kBroadcast, bytes);
  if (comm->rank() != root) {
    builder.Receive(root, Bytes(to));
    return builder.Post();
  }
  if (to != from) std::memcpy(to, from, bytes);
  for (int peer = 0; peer < comm->ranks(); ++peer) {
    if (peer != root) builder.Send(peer, Bytes(from));
  }
  return builder.Post();
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t by, ncclComm_t comm, cudaStream_t) {
  RETURN_IF_REFUSED(Admit(comm));
  if (!CanReduce(type, by)) return ncclInvalidArgument;
  const size_t bytes = count * BytesOf(type);
  const auto ranks = static_cast<size_t>(comm->ranks());
  auto all = std::make_shared<std::vector<std::byte>>(bytes * ranks);
  Builder builder(comm, kReduceScatter, bytes);
  for (size_t peer = 0; peer < ranks; ++peer) {
    std::byte* place = all->data() + peer * bytes;
    if (static_cast<int>(peer) == comm->rank()) {
      std::memcpy(place, Bytes(from) + peer * bytes, bytes);
      continue;
    }
    builder.Send(static_cast<int>(peer), Bytes(from) + peer * bytes);
    builder.Receive(static_cast<int>(peer), place);
  }
  builder.Finish([=, size = comm->ranks()] {
    ReduceRanks(*all, count, size, type, by);
    std::memcpy(to, all->data(), bytes);
  });
  return builder.Post();
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t) {
  RETURN_IF_REFUSED(Admit(comm));
  const size_t bytes = count * BytesOf(type);
  Builder builder(comm, kAllGather, bytes);
  for (int peer = 0; peer < comm->ranks(); ++peer) {
    std::byte* place = Bytes(to) + static_cast<size_t>(peer) * bytes;
    if (peer == comm->rank()) {
      if (place != from) std::memcpy(place, from, bytes);
      continue;
    }
    builder.Send(peer, Bytes(from));
    builder.Receive(peer, place);
  }
  return builder.Post();
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t) {
  RETURN_IF_REFUSED(Admit(comm, peer));
  Builder builder(comm, kPointToPoint, count * BytesOf(type));
  builder.Send(peer, Bytes(from));
  return builder.Post();
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t) {
  RETURN_IF_REFUSED(Admit(comm, peer));
  Builder builder(comm, kPointToPoint, count * BytesOf(type));
  builder.Receive(peer, Bytes(to));
  return builder.Post();
}

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
