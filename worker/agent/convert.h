// Converts between the link's structs and the gRPC messages. Pure functions, thread-safe.
#pragma once

#include <string>

#include "contract/messages.h"
#include "gp/v1/agent_service.pb.h"

namespace gp::agent {

v1::WrittenCheckpoint ToProto(const contract::WrittenCheckpoint& written);
v1::EngineOffer ToProto(const link::Listening& listening);

// `cores`: the slot's number of cores, used if the assignment has no number of threads.
link::Start ToStart(const v1::Assignment& assignment, const std::string& data_address, int cores);
link::Configure ToConfigure(const v1::Membership& membership, const v1::EngineChoices& choices,
                            uint64_t epoch, int rank);

}  // namespace gp::agent
