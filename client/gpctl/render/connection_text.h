// Who could read the traffic between this program and the coordinator, and between the ranks of a
// run, as text for people. Pure functions; thread-safe.
#pragma once

#include <string>

#include "client/api/run_client.h"
#include "gp/v1/run.pb.h"

namespace gp::gpctl {

// "tls" | "unix" | "none": what protects the client's connection.
std::string ConnectionSecurity(const client::RunClient& client);

// "TLS 1.3 to 10.0.0.5:7070"
std::string ConnectionText(const client::RunClient& client);

// "encrypted between nodes (TLS 1.3)"
std::string EncryptionText(bool encrypted);

// How gradients travel between nodes, for a run on several nodes whose ranks have connected once.
// "" for any other run, which sends no gradients to other nodes.
std::string GradientsText(const v1::Run& run);

}  // namespace gp::gpctl
