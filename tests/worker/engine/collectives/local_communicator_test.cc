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

TEST(LocalCommunicator, RefusesPartialsThatAreNotItsSubtrees) {
  const Group group = LocalFactory::Make(1, kLogicalShards, std::chrono::seconds(30));
  std::vector<float> values(4);
  EXPECT_THROW(group[0]->AllReduceTree(values, {values, values}), std::logic_error);
}

}  // namespace
}  // namespace gp::engine
