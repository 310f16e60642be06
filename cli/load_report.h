// What came of a load (load_generator.h), in text and as JSON: `hearth bench` and `hearth replay` share it.
#pragma once

#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/load_generator.h"

namespace hearth::cli {

// Answered, failed, errors, what was sent late of an open loop, latencies: a row each.
void AddLoadRows(const LoadOptions& options, const LoadResult& result, std::vector<std::vector<std::string>>& rows);

// The same as fields of `json`, latencies in milliseconds.
void AddLoadFields(const LoadOptions& options, const LoadResult& result, Json& json);

}  // namespace hearth::cli
