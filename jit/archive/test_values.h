// For tests: values as text that test_files.py makes of the same values, and the folder of files that it makes.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// Exact: floats and elements as their bytes in hexadecimal, geometry and flags of tensors.
std::string Describe(const c10::IValue& value);

// Runs test_files.py on first use; gives the folder that it filled. Ends the test process if that fails.
const std::string& TestFilesFolder();

// The files there whose names end so.
std::vector<std::string> TestFilesEndingIn(const std::string& end);

std::string ReadTestFile(const std::string& path);
void WriteTestFile(const std::string& path, std::string_view bytes);

}  // namespace hearth
