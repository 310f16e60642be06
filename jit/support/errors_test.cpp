#include "jit/support/errors.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(CompileError, SaysTheMessageThenThePlace) {
  const Source source("x = y\n", "code/m.py");
  const CompileError error({&source, 4, 5}, "undefined value y");
  EXPECT_EQ(error.message(), "undefined value y");
  EXPECT_STREQ(error.what(),
               "undefined value y\n"
               "  File \"code/m.py\", line 1\n"
               "    x = y\n"
               "        ~ <--- HERE\n");
}

TEST(CompileError, WithoutASourceIsTheMessageAlone) {
  EXPECT_STREQ(CompileError(SourceRange(), "no such method").what(), "no such method");
}

TEST(ModelError, KeepsTheClassAndMessageApartFromTheReport) {
  const ModelError error("builtins.ValueError", "too small", "Traceback ...\nbuiltins.ValueError: too small");
  EXPECT_EQ(error.class_name(), "builtins.ValueError");
  EXPECT_EQ(error.message(), "too small");
  EXPECT_STREQ(error.what(), "Traceback ...\nbuiltins.ValueError: too small");
}

TEST(CancelledError, TellsADeadlineFromACancelledCall) {
  const CancelledError deadline(CancelledError::Reason::kDeadline);
  const CancelledError cancelled(CancelledError::Reason::kCancelled);
  EXPECT_EQ(deadline.reason(), CancelledError::Reason::kDeadline);
  EXPECT_STRNE(deadline.what(), cancelled.what());
}

}  // namespace
}  // namespace hearth
