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

// Of a node's machine: "3.8 of 4" busy cores, "6.0 of 16.0 GiB" of used memory.
std::string CoresText(const v1::Node& node);
std::string MemoryText(const v1::Node& node);
// "120.0 GiB": what is free in the file system of storage.root.
std::string FreeDiskText(const v1::Node& node);

// Parts that are in use, 0 to 1; negative when unknown.
double CoresShare(const v1::Node& node);
double MemoryShare(const v1::Node& node);
double DiskShare(const v1::Node& node);

}  // namespace gp::gpctl
