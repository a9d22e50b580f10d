#include "worker/engine/collectives/local_communicator.h"

#include "worker/engine/collectives/communicator_contract.h"

namespace gp::engine {
namespace {

struct LocalFactory {
  static Group Make(int world_size, int logical_shards, std::chrono::milliseconds timeout) {
    return MakeLocalGroup(world_size, logical_shards, timeout);
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Local, CommunicatorContract, LocalFactory);

}  // namespace
}  // namespace gp::engine
