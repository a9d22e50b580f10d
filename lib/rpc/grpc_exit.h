// Ends gRPC's threads before the process exits. OpenSSL frees its tables in an exit handler; a
// thread of gRPC that still runs then crashes or leaks what it allocated
// (https://github.com/grpc/grpc/issues/38539).
#pragma once

namespace gp::rpc {

// From the first call on, exit() first waits until gRPC's threads have ended, for a second at most:
// they do not end while a channel, server or call of this process still exists. To be called before
// gRPC is used. Thread-safe.
void EndGrpcAtExit();

}  // namespace gp::rpc
