// What processes and machines use, as text for people. What is not known is "-". Pure functions;
// thread-safe.
#pragma once

#include <string>

#include "gp/v1/run.pb.h"

namespace gp::gpctl {

// "3.2 cores, 1.2 GiB"
std::string UseText(const v1::ResourceUse& use);
// "3.2"
std::string CoresText(const v1::ResourceUse& use);

// Of a node's machine: "3.8 of 4", "6.0 of 16.0 GiB", "120 GiB free".
std::string CoresText(const v1::Node& node);
std::string MemoryText(const v1::Node& node);
std::string DiskText(const v1::Node& node);

// Parts that are in use, 0 to 1; negative when unknown.
double CoresShare(const v1::Node& node);
double MemoryShare(const v1::Node& node);
double DiskShare(const v1::Node& node);

}  // namespace gp::gpctl
