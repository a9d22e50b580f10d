// JobSet: the object that brings agents for one run to Kubernetes and ends with the run. Its text
// is deploy/k8s/jobset.yaml.in, filled in. Functions without side effects; any thread.
#pragma once

#include <string>

#include "base/status.h"
#include "plan/run_spec.h"

namespace gp::gpctl {

struct JobSetOptions {
  std::string cluster_namespace = "gp";  // the Kubernetes namespace
  std::string queue;                     // Kueue's local queue; empty: none
  std::string image_prefix;              // such as registry.example/
  std::string memory;                    // memory of each agent; empty: from its CPUs and GPUs
  int gpus_per_agent = 0;                // 0: all that the run takes, at most eight
};

// The JobSet in YAML for the run that `run` names to gpctl: an agent for each rank on CPUs, one for
// gpus_per_agent ranks on GPUs. `name` makes the object's name. InvalidArgument: an option cannot
// be used, or the run does not fit it.
StatusOr<std::string> JobSetText(const runspec::RunSpec& spec, const JobSetOptions& options,
                                 const std::string& name, const std::string& run);

}  // namespace gp::gpctl
