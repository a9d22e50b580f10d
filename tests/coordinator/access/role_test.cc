#include "coordinator/access/role.h"

#include <gtest/gtest.h>

namespace gp::coordinator {
namespace {

TEST(Roles, InANamespaceTheHigherOneCounts) {
  const Roles roles{{"*", Role::kViewer}, {"research", Role::kOperator}};
  EXPECT_EQ(roles.In("research"), Role::kOperator);
  EXPECT_EQ(roles.In("default"), Role::kViewer);
  EXPECT_EQ(Roles({{"*", Role::kAdmin}, {"research", Role::kViewer}}).In("research"), Role::kAdmin);
  EXPECT_EQ(Roles({{"research", Role::kAdmin}}).In("default"), std::nullopt);
  EXPECT_EQ(roles.Highest(), Role::kOperator);
}

TEST(Roles, CoverOnlyWhatTheirHolderHasEverywhere) {
  const Roles admin_here{{"research", Role::kAdmin}};
  EXPECT_TRUE(admin_here.Covers({{"research", Role::kViewer}}, Role::kAdmin));
  EXPECT_FALSE(admin_here.Covers({{"other", Role::kViewer}}, Role::kAdmin));
  EXPECT_FALSE(admin_here.Covers({{"*", Role::kViewer}}, Role::kAdmin));
  EXPECT_TRUE(Roles::AdminEverywhere().Covers({{"*", Role::kAdmin}}, Role::kAdmin));
  EXPECT_FALSE(Roles({{"*", Role::kOperator}}).Covers({{"research", Role::kViewer}}, Role::kAdmin));
}

TEST(Roles, ComeBackFromTheirText) {
  for (const Roles& roles : {Roles(), Roles::AdminEverywhere(),
                             Roles{{"*", Role::kViewer}, {"a.b-c_d", Role::kSubmitter}}}) {
    const auto parsed = ParseRoles(roles.Text());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, roles);
  }
  EXPECT_FALSE(ParseRoles("research").ok());
  EXPECT_FALSE(ParseRoles("research=root").ok());
  EXPECT_FALSE(ParseRoles("Research=admin").ok());
}

TEST(NamespaceName, IsRefusedWithTheRuleAndWithoutControlCharacters) {
  EXPECT_TRUE(CheckNamespaceName("team-7").ok());
  const Status status = CheckNamespaceName("a\x1b[2J");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(gp::Message(status).find('\x1b'), std::string::npos);
  EXPECT_NE(gp::Message(status).find("lower-case letters"), std::string::npos) << status;
}

}  // namespace
}  // namespace gp::coordinator
