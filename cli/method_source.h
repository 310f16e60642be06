// Finds a method's definition in an archive's source text.
#pragma once

#include <ATen/core/function_schema.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::cli {

// The file's name and the text of `method` in the class that the schema's `self` is of. The class's file is found by
// its qualified name: __torch__.a.B is class B of code/__torch__/a.py. Empty strings if it is not there.
std::pair<std::string, std::string> MethodSource(const std::vector<std::pair<std::string, std::string>>& files,
                                                 const c10::FunctionSchema& schema, std::string_view method);

}  // namespace hearth::cli
