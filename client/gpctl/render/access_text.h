// Tokens, callers and audit records as text and as JSON (see run_json.h). Pure functions;
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/gpctl/render/run_json.h"
#include "client/gpctl/render/run_text.h"
#include "formats/audit_log.h"
#include "gp/v1/access_service.pb.h"

namespace gp::gpctl {

// "admin in every namespace, viewer in research"
std::string RolesText(const google::protobuf::Map<std::string, std::string>& roles);

Json TokenFields(const v1::TokenInfo& token);
Json CallerFields(const v1::WhoAmIResponse& caller);

std::string TokenTable(const std::vector<v1::TokenInfo>& tokens, double now,
                       const TextStyle& style);
std::string AuditTable(const std::vector<formats::AuditRecord>& records, const TextStyle& style);

}  // namespace gp::gpctl
