// DocumentReader: reads a configuration key by key, in order, for run files and for the settings of
// daemons. It finds problems of keys (unknown, given twice, a value in place of a group). The
// derived class reads the values. Used by one thread.
#pragma once

#include <string>

#include "base/yaml_reader.h"
#include "runspec/field.h"

namespace gp::runspec {

class DocumentReader {
 public:
  virtual ~DocumentReader() = default;

 protected:
  // `name` is the document's name in messages: "a run file"; `key_list` is a hint how to list its
  // keys. `fields` must outlive this object.
  DocumentReader(std::string name, std::string key_list, const Fields& fields)
      : name_(std::move(name)), key_list_(std::move(key_list)), fields_(fields) {}

  // Reads the keys below the group `path` ("": all). A null document has none.
  void ReadGroup(const std::string& path, const YamlNode& node);

  // True when there are keys below `path`.
  bool IsGroup(const std::string& path) const;

  // "did you mean 'optimizer.lr'?"; empty when no key is near, or when the list of problems is
  // full.
  std::string DidYouMean(const std::string& path) const;

  ConfigProblems& problems() { return problems_; }
  const ConfigProblems& problems() const { return problems_; }

 private:
  // REQUIRES: `path` is one of the fields.
  virtual void ReadKey(const std::string& path, const YamlEntry& entry) = 0;
  // Called before the keys of a group are read.
  virtual void EnterGroup(const std::string& /*path*/, const YamlEntry& /*entry*/) {}
  // Adds a problem to problems().
  virtual void Report(const YamlMark& mark, int width, const std::string& key, std::string message,
                      std::string hint) = 0;

  void ReadEntry(const std::string& path, const YamlEntry& entry);
  bool IsKey(const std::string& path) const;

  const std::string name_;
  const std::string key_list_;
  const Fields& fields_;
  ConfigProblems problems_;
};

}  // namespace gp::runspec
