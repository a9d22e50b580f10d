// SpoilConnects: makes gRPC treat a TCP connection as failed, as happens at random with gRPC 1.51:
// gRPC calls connect(), then registers the descriptor with epoll, and only then reads errno. Even a
// successful call may change errno, so a connection in progress (EINPROGRESS) looks failed. This
// library replaces both calls, so linking it is enough. It can also be preloaded into any program:
// GP_SPOIL_CONNECTS=1 LD_PRELOAD=build/release/tests/libgp_spoiled_connect.so. Thread-safe.
#pragma once

namespace gp::rpc {

// Of this process's connections that are still in progress when connect() returns, makes the next
// `count` fail in gRPC with "No such file or directory".
void SpoilConnects(int count);

// How many connections are still to be made to fail.
int ConnectsToSpoil();

}  // namespace gp::rpc
