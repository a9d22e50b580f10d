#include "worker/engine/collectives/nccl_communicator.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "worker/engine/backend/cuda/kernels/flat.h"

namespace gp::engine {
namespace {

// 25 MiB: with pieces of this size NCCL reaches its full bandwidth, and the first ones start early.
constexpr size_t kDeviceOverlapElements = 6'553'600;
// The buffer is for flags, losses and settings, never for gradients.
constexpr int64_t kStagingBytes = 256 << 10;

constexpr char kHexDigits[] = "0123456789abcdef";

std::string ToHex(const ncclUniqueId& id) {
  std::string text;
  for (const char byte : id.internal) {
    const auto value = static_cast<unsigned char>(byte);
    text += kHexDigits[value >> 4];
    text += kHexDigits[value & 15];
  }
  return text;
}

ncclUniqueId FromHex(const std::string& text) {
  ncclUniqueId id = {};
  const bool well_formed = text.size() == 2 * sizeof(id.internal) &&
                           text.find_first_not_of(kHexDigits) == std::string::npos;
  if (!well_formed) {
    throw CollectiveError("connecting through NCCL: the id of the group has " +
                          std::to_string(text.size()) + " characters, expected " +
                          std::to_string(2 * sizeof(id.internal)) + " hex digits");
  }
  for (size_t i = 0; i < sizeof(id.internal); ++i) {
    id.internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return id;
}

void Copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  CheckCuda(cudaMemcpyAsync(to, from, bytes, kind, stream), "copy for a collective");
}

}  // namespace

std::string MakeNcclId() {
  const NcclApi& nccl = NcclApi::Get();
  ncclUniqueId id = {};
  const ncclResult_t result = nccl.get_unique_id(&id);
  if (result == ncclSuccess) return ToHex(id);
  throw CollectiveError(std::string("making the id of a group: NCCL: ") +
                        nccl.error_string(result) + ": " + nccl.last_error(nullptr));
}

NcclCommunicator::NcclCommunicator(const GroupOptions& options, const std::string& id,
                                   bool deterministic, const std::stop_token& stop)
    : plan_(PlanOfRanks(options.logical_shards, static_cast<int>(options.addresses.size()),
                        options.rank)),
      pinned_(kStagingBytes),
      staging_(kStagingBytes),
      connection_(NcclApi::Get(), options, FromHex(id), stop) {
  if (deterministic) tree_.emplace(plan_, connection_);
}

size_t NcclCommunicator::overlap_elements() const {
  return size() > 1 ? kDeviceOverlapElements : 0;
}

void NcclCommunicator::AllReduceTree(std::span<float> values,
                                     const std::vector<std::span<float>>& partials) {
  BeginAllReduceTree(values, partials);
  Await("all-reduce");
}

void NcclCommunicator::BeginAllReduceTree(std::span<float> values,
                                          const std::vector<std::span<float>>& partials) {
  const size_t expected = plan_.leaves[plan_.own].size();
  if (partials.size() != expected) {
    throw std::logic_error("all-reduce: " + std::to_string(partials.size()) +
                           " partial sums, expected " + std::to_string(expected));
  }
  if (values.empty()) return connection_.Check("all-reduce");
  FollowQueue();
  if (tree_) {
    tree_->Run(values, partials, stream_.get());
  } else {
    SumByNccl(values, partials);
  }
}

void NcclCommunicator::SumByNccl(std::span<float> values,
                                 const std::vector<std::span<float>>& partials) {
  float* const first = partials[0].data();
  for (size_t i = 1; i < partials.size(); ++i) {
    LaunchAxpby(std::ssize(values), first, 1, first, 1, partials[i].data(), stream_.get());
  }
  connection_.Issue("all-reduce", [&](ncclComm_t comm) {
    return connection_.api().all_reduce(first, values.data(), values.size(), ncclFloat32, ncclSum,
                                        comm, stream_.get());
  });
}

void NcclCommunicator::AllReduceMax(std::span<double> values) {
  constexpr char kOperation[] = "maximum";
  connection_.Check(kOperation);
  auto* const staging = reinterpret_cast<double*>(staging_.data());
  constexpr size_t kRoom = kStagingBytes / sizeof(double);
  for (; !values.empty(); values = values.subspan(std::min(values.size(), kRoom))) {
    const std::span<double> now = values.first(std::min(values.size(), kRoom));
    std::memcpy(pinned_.data(), now.data(), now.size_bytes());
    Copy(staging, pinned_.data(), now.size_bytes(), cudaMemcpyHostToDevice, stream_.get());
    Reduce(kOperation, {staging, now.size()}, ncclMax);
    Copy(pinned_.data(), staging, now.size_bytes(), cudaMemcpyDeviceToHost, stream_.get());
    Await(kOperation);
    std::memcpy(now.data(), pinned_.data(), now.size_bytes());
  }
}

void NcclCommunicator::Broadcast(std::span<std::byte> bytes, int root) {
  constexpr char kOperation[] = "broadcast";
  connection_.Check(kOperation);
  constexpr size_t kRoom = kStagingBytes;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kRoom))) {
    const std::span<std::byte> now = bytes.first(std::min(bytes.size(), kRoom));
    std::memcpy(pinned_.data(), now.data(), now.size());
    Copy(staging_.data(), pinned_.data(), now.size(), cudaMemcpyHostToDevice, stream_.get());
    connection_.Issue(kOperation, [&](ncclComm_t comm) {
      return connection_.api().broadcast(staging_.data(), staging_.data(), now.size(), ncclUint8,
                                         root, comm, stream_.get());
    });
    Copy(pinned_.data(), staging_.data(), now.size(), cudaMemcpyDeviceToHost, stream_.get());
    Await(kOperation);
    std::memcpy(now.data(), pinned_.data(), now.size());
  }
}

void NcclCommunicator::Barrier() {
  double nothing = 0;
  AllReduceMax({&nothing, 1});
}

void NcclCommunicator::BeginSum(std::span<double> values) {
  FollowQueue();
  Reduce("sum", values, ncclSum);
}

void NcclCommunicator::Reduce(const char* operation, std::span<double> values, ncclRedOp_t by) {
  connection_.Issue(operation, [&](ncclComm_t comm) {
    return connection_.api().all_reduce(values.data(), values.data(), values.size(), ncclFloat64,
                                        by, comm, stream_.get());
  });
}

void NcclCommunicator::BeginAllGather(std::span<std::byte> bytes, size_t element_size) {
  constexpr char kOperation[] = "all-gather";
  FollowQueue();
  const NcclApi& nccl = connection_.api();
  const size_t count = bytes.size() / element_size;
  std::vector<NcclConnection::Call> calls;
  if (HasEqualParts(count)) {
    std::byte* const own = bytes.data() + PartOfRank(count, rank()).begin * element_size;
    calls.push_back([=, this, &nccl](ncclComm_t comm) {
      return nccl.all_gather(own, bytes.data(), bytes.size() / plan_.participants(), ncclUint8,
                             comm, stream_.get());
    });
  } else {
    for (int root = 0; root < size(); ++root) {
      const ElementRange part = PartOfRank(count, root);
      std::byte* const theirs = bytes.data() + part.begin * element_size;
      calls.push_back([=, this, &nccl](ncclComm_t comm) {
        return nccl.broadcast(theirs, theirs, part.size() * element_size, ncclUint8, root, comm,
                              stream_.get());
      });
    }
  }
  connection_.IssueGroup(kOperation, calls);
}

ElementRange NcclCommunicator::PartOfRank(size_t count, int rank) const {
  return PartOf(count, static_cast<size_t>(rank), plan_.participants());
}

// Whether the parts of all ranks have equal sizes, as ncclAllGather requires.
bool NcclCommunicator::HasEqualParts(size_t count) const {
  for (int rank = 0; rank < size(); ++rank) {
    if (PartOfRank(count, rank).size() * plan_.participants() != count) return false;
  }
  return true;
}

void NcclCommunicator::FollowQueue() {
  if (!followed_) return;
  CheckCuda(cudaEventRecord(issued_.get(), *followed_), "event before a collective");
  CheckCuda(cudaStreamWaitEvent(stream_.get(), issued_.get(), 0), "wait before a collective");
}

void NcclCommunicator::Rejoin() {
  connection_.Check("all-reduce");
  CheckCuda(cudaEventRecord(done_.get(), stream_.get()), "event after a collective");
  CheckCuda(cudaStreamWaitEvent(followed_.value(), done_.get(), 0), "wait for a collective");
}

void NcclCommunicator::Await(const char* operation) {
  CheckCuda(cudaEventRecord(done_.get(), stream_.get()), "event after a collective");
  connection_.Wait(operation, [this] {
    const cudaError_t state = cudaEventQuery(done_.get());
    if (state != cudaErrorNotReady) CheckCuda(state, "a collective");
    return state == cudaSuccess;
  });
}

}  // namespace gp::engine
