// JobSet: the object that starts agents for one run on Kubernetes and ends with the run. Its text
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
  std::string memory;      // memory of each agent; empty: 2Gi for each CPU, or 32Gi for each GPU
  int gpus_per_agent = 0;  // 0: all that the run takes, at most eight
};

// The JobSet in YAML for the run that `run` names to gpctl: an agent for each rank on CPUs, one for
// gpus_per_agent ranks on GPUs. `name` becomes the object's name: its last 36 characters at most,
// with '-' for those that Kubernetes does not allow. InvalidArgument: an option cannot be used, the
// run does not fit it, or its resources.device is auto.
StatusOr<std::string> JobSetText(const runspec::RunSpec& spec, const JobSetOptions& options,
                                 const std::string& name, const std::string& run);

}  // namespace gp::gpctl
