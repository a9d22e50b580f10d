#include "worker/agent/convert.h"

#include "rpc/message_fields.h"

namespace gp::agent {
v1::WrittenCheckpoint ToProto(const contract::WrittenCheckpoint& written) {
  v1::WrittenCheckpoint out;
  rpc::WriteFields(written, out);
  return out;
}

v1::EngineOffer ToProto(const link::Listening& listening) {
  v1::EngineOffer out;
  for (const std::string& level : listening.isa_levels.value_or(std::vector<std::string>())) {
    out.add_isa_levels(level);
  }
  if (listening.kernels) {
    out.mutable_kernels()->insert(listening.kernels->begin(), listening.kernels->end());
  }
  out.set_nccl_id(listening.nccl_id.value_or(""));
  return out;
}

link::Start ToStart(const v1::Assignment& assignment, const std::string& data_address, int cores) {
  link::Start start;
  start.run_id = assignment.run_id();
  start.run_name = assignment.run_name();
  start.epoch = assignment.epoch();
  start.rank = assignment.rank();
  start.world_size = assignment.world_size();
  start.resolved = assignment.resolved();
  start.run_directory = assignment.run_directory();
  start.data_address = data_address;
  if (assignment.has_resume()) {
    start.resume = rpc::ReadFields<contract::ResumePoint>(assignment.resume());
  }
  const v1::EngineChoices& choices = assignment.choices();
  start.threads = choices.threads_per_rank() > 0 ? choices.threads_per_rank() : cores;
  start.logical_shards = choices.logical_shards();
  start.begun = assignment.begun();
  start.begins_leg = assignment.begins_leg();
  start.passes_over = assignment.passes_over();
  start.isa = choices.isa();
  start.kernels = {choices.kernels().begin(), choices.kernels().end()};
  return start;
}

link::Configure ToConfigure(const v1::Membership& membership, const v1::EngineChoices& choices,
                            uint64_t epoch, int rank) {
  link::Configure configure;
  configure.epoch = epoch;
  configure.rank = rank;
  configure.addresses = {membership.addresses().begin(), membership.addresses().end()};
  configure.secret = membership.secret();
  if (membership.encrypted()) configure.encrypted = true;
  if (!choices.isa().empty()) {
    configure.isa = choices.isa();
    configure.kernels.emplace(choices.kernels().begin(), choices.kernels().end());
  }
  if (membership.needs_nccl_id()) configure.nccl_id = membership.nccl_id();
  return configure;
}

}  // namespace gp::agent
