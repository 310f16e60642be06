#include "server/telemetry/trace_context.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace hearth::server {
namespace {

// The recommendation's own example.
const std::string kExample = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, ATraceparentIsRead) {
  const auto context = ParseTraceparent(kExample);
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(context->trace_id_text(), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(context->span_id[7], 0xb7);
  EXPECT_TRUE(context->sampled);
  EXPECT_FALSE(ParseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")->sampled);
  EXPECT_TRUE(ParseTraceparent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes").has_value());
}

TEST(TraceContext, WhatIsNoneIsIgnored) {
  for (const char* wrong : {
           "",
           "00",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
           "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
           "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
       }) {
    EXPECT_FALSE(ParseTraceparent(wrong).has_value()) << wrong;
  }
}

TEST(TraceContext, ATracestateIsTakenAsItIs) {
  for (const char* state : {"congo=t61rcWkgMzE", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "a=1 , b=2,\t, c= 3",
                            "fw529a3039@dt=FfAAAP", "0a/b*_-@x=!~ <>\"", "a=1,", "a=1;b"}) {
    EXPECT_EQ(ParseTraceContext(kExample, state)->state, state);
  }
}

TEST(TraceContext, ATracestateThatIsNoneIsLeftOut) {
  const std::string long_name(256, 'a');
  EXPECT_EQ(ParseTraceContext(kExample, long_name + "=" + long_name)->state.size(), 513u);
  for (const std::string& wrong :
       std::vector<std::string>{"", " , ", "a", "=1", "a=", "a= ", "a=1=2", "A=1", "a b=1", "_a=1", "a=1,a=2", "a=1\tb",
                                "a=1\n", "a=\x7f", "a=\xc3\xa9", long_name + "a=1", "a=" + long_name + "a"}) {
    const auto context = ParseTraceContext(kExample, wrong);
    ASSERT_TRUE(context.has_value());
    EXPECT_EQ(context->state, "") << wrong;
  }
  EXPECT_FALSE(ParseTraceContext("nonsense", "a=1").has_value());
}

TEST(TraceContext, ATracestatesMembersAndBytesAreBounded) {
  std::string members = "k0=v";
  for (size_t i = 1; i < kMostTraceStateMembers; ++i) members += ",k" + std::to_string(i) + "=v";
  EXPECT_TRUE(IsTraceState(members));
  EXPECT_FALSE(IsTraceState(members + ",more=v"));
  EXPECT_TRUE(IsTraceState("a=1" + std::string(kMostTraceStateBytes - 3, ' ')));
  EXPECT_FALSE(IsTraceState("a=1" + std::string(kMostTraceStateBytes - 2, ' ')));
}

TEST(TraceContext, NewOnesDiffer) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(NewTrace().trace_id_text());
  EXPECT_EQ(seen.size(), 100);
  EXPECT_TRUE(NewTrace().sampled);
  EXPECT_NE(NewSpanId(), NewSpanId());
}

}  // namespace
}  // namespace hearth::server
