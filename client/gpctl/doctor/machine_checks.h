// Checks this machine for gp. The parsers are pure; the checks read /proc and the file system.
// Thread-safe.
#pragma once

#include <string>

#include "client/gpctl/doctor/check.h"
#include "confinement/confinement.h"

namespace gp::gpctl {

// From the text of /proc/cpuinfo.
Check CheckProcessor(const std::string& cpuinfo, int cores);
// From the text of /proc/meminfo.
Check CheckMemory(const std::string& meminfo);
Check CheckDisk(const std::string& directory);
// Whether this user may write in the state directory, or make it.
Check CheckStateDirectory(const std::string& directory);
// Raises the limit of open files of this process, which its children inherit; fails when it cannot
// be raised to what the programs need.
Check CheckOpenFiles();
// Whether `root` is the storage of the service: its .gp-probe must hold `identity`. `adopt` is the
// command that accepts another one.
Check CheckStorage(const std::string& root, const std::string& identity, const std::string& adopt);
// `now`: seconds since 1970. With a clock that was never set, files and certificates have wrong
// times.
Check CheckClock(double now);
// What this kernel offers to confine trainers and samplers, and what it lacks.
Check CheckConfinement(const confinement::Offer& offer);
// Checks that a free port on loopback exists.
Check CheckPorts();

}  // namespace gp::gpctl
