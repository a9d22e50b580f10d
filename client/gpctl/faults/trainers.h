// Finds the trainers of an agent on this machine, to hurt them. Reads /proc; any thread may call.
#pragma once

#include <vector>

namespace gp::gpctl {

// The processes whose parent is the agent, by number; without those that have ended.
std::vector<int> TrainersOf(int agent_pid);

// Whether the trainer writes its run's records: then it is rank 0.
bool WritesRecords(int trainer_pid);

}  // namespace gp::gpctl
