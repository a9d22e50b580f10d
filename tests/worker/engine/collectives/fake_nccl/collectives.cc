// The collectives, sends and receives of the fake: which messages are sent, and how received data
// is combined.
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "worker/engine/collectives/fake_nccl/group.h"

using gp::fake_nccl::Label;

namespace {

enum Operation : uint64_t { kAllReduce = 1, kBroadcast, kAllGather, kPointToPoint };

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

// `all` contains the values of every rank, one rank after another; the result replaces those of
// rank 0.
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

// Builds the messages of one call.
class Builder {
 public:
  Builder(ncclComm_t comm, Operation operation, size_t bytes) : comm_(comm) {
    const bool collective = operation != kPointToPoint;
    label_ = {operation, collective ? comm->NextNumber() : 0, bytes};
  }

  void Send(int peer, std::byte* from) { Add(peer, true, from); }
  void Receive(int peer, std::byte* to) { Add(peer, false, to); }
  void Finish(std::function<void()> finish) { work_.finish.push_back(std::move(finish)); }

  ncclResult_t Post() { return gp::fake_nccl::Enqueue(comm_, std::move(work_)); }

 private:
  void Add(int peer, bool outgoing, std::byte* memory) {
    work_.messages.push_back({peer, label_, outgoing, {memory, label_.bytes}});
  }

  ncclComm_t comm_;
  Label label_;
  FakeWork work_;
};

// Success if `comm` accepts a call now and the peer exists.
ncclResult_t Admit(ncclComm_t comm, int peer = 0) {
  if (comm == nullptr || peer < 0 || peer >= comm->ranks()) return ncclInvalidArgument;
  return comm->Admit();
}

#define RETURN_IF_REFUSED(expression) \
  if (const ncclResult_t refused = (expression); refused != ncclSuccess) return refused

// memcpy does not allow null pointers, which an empty part may have.
void CopyBytes(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

// The values of all ranks in rank order, and the messages that collect them.
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
      CopyBytes(place, from, bytes);
      continue;
    }
    gathered.builder.Send(peer, Bytes(from));
    gathered.builder.Receive(peer, place);
  }
  return gathered;
}

}  // namespace

extern "C" {

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t by, ncclComm_t comm, cudaStream_t) {
  RETURN_IF_REFUSED(Admit(comm));
  if (!CanReduce(type, by)) return ncclInvalidArgument;
  const size_t bytes = count * BytesOf(type);
  Gathered gathered = GatherAtAll(comm, kAllReduce, from, bytes);
  gathered.builder.Finish([=, all = gathered.all, ranks = comm->ranks()] {
    ReduceRanks(*all, count, ranks, type, by);
    CopyBytes(to, all->data(), bytes);
  });
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
  if (to != from) CopyBytes(to, from, bytes);
  for (int peer = 0; peer < comm->ranks(); ++peer) {
    if (peer != root) builder.Send(peer, Bytes(from));
  }
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
      if (place != from) CopyBytes(place, from, bytes);
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

}  // extern "C"
