// SpoilConnects: makes gRPC take a connection over TCP for a failed one, as happens at random with
// gRPC 1.51. gRPC calls connect(), then registers the descriptor with epoll, and only then reads
// errno. A successful call may change errno, and the connection in progress (EINPROGRESS) becomes a
// failed one. This library replaces both calls, so linking it is enough. It can also be preloaded
// into any program: GP_SPOIL_CONNECTS=1 LD_PRELOAD=build/release/tests/libgp_spoiled_connect.so.
// Thread-safe.
#pragma once

namespace gp::rpc {

// The next `count` connections of this process that are in progress when connect() returns end with
// "No such file or directory" inside gRPC.
void SpoilConnects(int count);

// How many of them are still to be made.
int ConnectsToSpoil();

}  // namespace gp::rpc
