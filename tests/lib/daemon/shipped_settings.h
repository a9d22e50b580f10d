// What a daemon's settings file in configs/ must contain: every key of the table, with its meaning.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <variant>

#include "base/file.h"
#include "base/yaml_reader.h"
#include "daemon/setting.h"

namespace gp::daemon {

inline std::string ShippedPath(const std::string& name) {
  const char* source = std::getenv("GP_SOURCE");
  return JoinPath(source == nullptr ? "." : source, "configs/" + name);
}

// All comments of a file, joined into one line of text.
inline std::string CommentsOf(const std::string& text) {
  std::string comments;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t hash = line.find_first_not_of(' ');
    if (hash == std::string::npos || line[hash] != '#') continue;
    comments += line.substr(hash + 1);
  }
  return comments;
}

inline void ExpectShowsEverySetting(const std::string& name, const Settings& settings) {
  const std::string text = ReadFile(ShippedPath(name)).value();
  const auto parsed = ParseYaml(text, name);
  ASSERT_TRUE(std::holds_alternative<YamlNode>(parsed));
  for (const Setting& setting : settings) {
    const std::string& key = setting.field.path;
    const std::string& takes = setting.value_name;
    const bool takes_path = takes == "DIR" || takes == "FILE" || takes == "PATH";
    if (takes_path) {
      EXPECT_TRUE(setting.field.is_path) << key << " takes s3://bucket/x for a path";
    }
    const size_t dot = key.find('.');
    const YamlNode* section = std::get<YamlNode>(parsed).Find(key.substr(0, dot));
    ASSERT_NE(section, nullptr) << key;
    EXPECT_NE(section->Find(key.substr(dot + 1)), nullptr) << key;
    EXPECT_NE(CommentsOf(text).find(setting.field.doc), std::string::npos)
        << key << " is explained otherwise:\n"
        << setting.field.doc;
  }
}

}  // namespace gp::daemon
