#include "rpc/status.h"

#include <gtest/gtest.h>

namespace gp::rpc {
namespace {

TEST(RpcStatus, EveryCodeAndItsMessageComeBack) {
  for (int code = 0; code <= 16; ++code) {
    const Status status(static_cast<StatusCode>(code), code == 0 ? "" : "run 'x' is gone");
    EXPECT_EQ(FromGrpc(ToGrpc(status)), status) << code;
  }
}

TEST(RpcStatus, AReasonGoesAlong) {
  const Status status = WithReason(NotFound("run 'x' was deleted"), kRunDeleted);
  EXPECT_EQ(ReasonOf(status), "RUN_DELETED");
  const Status back = FromGrpc(ToGrpc(status));
  EXPECT_EQ(ReasonOf(back), "RUN_DELETED");
  EXPECT_EQ(Message(back), "run 'x' was deleted");
  EXPECT_EQ(ReasonOf(FromGrpc(ToGrpc(NotFound("no")))), "");
}

TEST(RpcStatus, DetailsOfOthersAreNoReason) {
  for (const std::string details : {"", "garbage", "\n\x05other"}) {
    EXPECT_EQ(ReasonOf(FromGrpc({grpc::StatusCode::NOT_FOUND, "no", details})), "");
  }
}

TEST(RpcStatus, CutsALongMessageBetweenCharacters) {
  std::string text;
  while (text.size() < 100000) text += "ä";
  const grpc::Status cut = ToGrpc(InvalidArgument("x{}", text));
  EXPECT_LT(cut.error_message().size(), 3000u);
  const size_t end = cut.error_message().find('\n');
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(end % 2, 1u) << "one 'x' and whole two-byte characters";
}

}  // namespace
}  // namespace gp::rpc
