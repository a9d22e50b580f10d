// The run file's schema: one table with every key's path, type, range, unit, default and meaning.
// Loading, --set, `gpctl explain`, the JSON Schema for editors, the resolved file and completion
// all use this table, so they always agree. The table is built once and constant; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/run_spec.h"
#include "runspec/field.h"

namespace gp::runspec {

// A key of the run file: the field, and where its value lives in a RunSpec.
struct RunField : Field {
  Slot (*slot)(RunSpec& spec);
};

// Every key, in the order of the file.
const std::vector<RunField>& Schema();

// The fields of every key, without the slots.
const Fields& SchemaFields();

// nullptr if there is no such key.
const RunField* FindField(std::string_view path);

// True when keys live below `path` ("model").
bool IsGroup(std::string_view path);

// One sentence about a group; empty when the path is not a group.
std::string GroupDoc(std::string_view path);

// The same as in runspec/field.h, for the value in a RunSpec.
std::string Expectation(const RunField& field);
std::string FormatValue(const RunField& field, const RunSpec& spec);

}  // namespace gp::runspec
