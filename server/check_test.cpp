#include "server/check.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hearth::server {
namespace {

constexpr const char* kText =
    "name: \"m\"  # max_batch_size is below\n"
    "max_batch_size: 4\n"
    "parameters { key: \"max_plans\" value { string_value: \"none\" } }\n"
    "input { name: \"x\" }\n";

TEST(Check, ALineIsTheFirstThatHasANameOfTheMessage) {
  EXPECT_EQ(LineOf(kText, "max_batch_size is too large"), 2);
  EXPECT_EQ(LineOf(kText, "the parameter max_plans is 'none'; it must be a whole number"), 3);
  EXPECT_EQ(LineOf(kText, "input 'x' has no data_type"), 4);
  EXPECT_EQ(LineOf(kText, "the configuration of 'm': max_batch_size is -1; it cannot be below 0"), 2);
  EXPECT_EQ(LineOf(kText, "something is wrong"), 0);
  EXPECT_EQ(LineOf(kText, "an unended ' quote"), 0);
  EXPECT_EQ(LineOf("", "max_plans"), 0);
}

TEST(Check, AProblemHasItsFileAndItsLineOnce) {
  const std::string file =
      (std::filesystem::temp_directory_path() / ("check_test." + std::to_string(getpid()))).string();
  std::ofstream(file) << kText;
  EXPECT_EQ(Located(file, "input 'x' has no data_type"), file + ":4: input 'x' has no data_type");
  EXPECT_EQ(Located(file, "nothing is there"), file + ": nothing is there");
  EXPECT_EQ(Located(file, file + ":1:2: a syntax error"), file + ":1:2: a syntax error");
  std::filesystem::remove(file);
  EXPECT_EQ(Located(file, "input 'x'"), file + ": input 'x'");
}

}  // namespace
}  // namespace hearth::server
