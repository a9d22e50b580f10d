#include "coordinator/access/access_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <set>

#include "base/file.h"

namespace gp::coordinator {
namespace {

// Every method of every service in proto/gp/v1, read from the .proto files, because descriptors
// exist only for linked protos.
std::set<std::string> MethodsOfProtos() {
  static const std::regex kDeclaration("(?:^|\n)(service|  rpc) (\\w+)");
  const std::string folder = JoinPath(std::getenv("GP_SOURCE"), "proto/gp/v1");
  std::set<std::string> methods;
  const std::vector<std::string> names = ListDirectory(folder).value();
  for (const std::string& name : names) {
    const std::string text = ReadFile(JoinPath(folder, name)).value();
    std::string service;
    for (std::sregex_iterator it(text.begin(), text.end(), kDeclaration), end; it != end; ++it) {
      if ((*it)[1] == "service") {
        service = (*it)[2];
      } else {
        methods.insert("gp.v1." + service + "/" + (*it)[2].str());
      }
    }
  }
  return methods;
}

TEST(AccessTable, HasOneRowForEachMethodOfTheProtos) {
  std::set<std::string> rows;
  for (const AccessRule& rule : AccessTable()) {
    EXPECT_TRUE(rows.insert(std::string(rule.method)).second) << rule.method << " has two rows";
  }
  EXPECT_EQ(rows, MethodsOfProtos());
}

TEST(AccessTable, WhatHasNoRowIsNobodys) {
  EXPECT_EQ(FindRule("gp.v1.RunService/Submi"), nullptr);
  EXPECT_EQ(FindRule(""), nullptr);
}

TEST(AccessTable, IsTheOneOfThePage) {
  const std::string page =
      ReadFile(JoinPath(std::getenv("GP_SOURCE"), "docs/security/access.md")).value();
  size_t rows = 0;
  for (size_t at = page.find("\n| `gp.v1."); at != std::string::npos;
       at = page.find("\n| `gp.v1.", at + 1)) {
    ++rows;
  }
  for (const AccessRule& rule : AccessTable()) {
    const std::string row = "\n| `" + std::string(rule.method) + "` | " + Name(rule.least) + " | " +
                            Name(rule.where) + " | " + (rule.mutates ? "yes" : "") + " |";
    EXPECT_THAT(page, ::testing::HasSubstr(row));
  }
  EXPECT_EQ(rows, AccessTable().size());
}

}  // namespace
}  // namespace gp::coordinator
