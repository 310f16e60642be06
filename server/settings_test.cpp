#include "server/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace hearth::server {
namespace {

using ::testing::HasSubstr;

config::Settings Minimal() {
  config::Settings settings;
  settings.add_model_repository("a");
  return settings;
}

std::string ErrorWith(const std::function<void(config::Settings&)>& change) {
  config::Settings settings = Minimal();
  change(settings);
  const absl::Status status = CompleteSettings(settings).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(Settings, DefaultsAreWithinTheirBoundsAndTheComputedOnesAreFilledIn) {
  const auto settings = CompleteSettings(Minimal());
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_GT(settings->memory_limit(), 1 << 20);
  EXPECT_EQ(settings->load_memory_limit(), settings->memory_limit());
  EXPECT_GT(settings->requests_memory_limit(), settings->memory_limit());
  EXPECT_GT(settings->kept_memory(), 0);
  EXPECT_TRUE(settings->has_compiler_share());
}

TEST(Settings, WhatIsSetStays) {
  config::Settings settings = Minimal();
  settings.set_memory_limit(0);
  settings.set_compiler_share(0.5);
  const auto complete = CompleteSettings(settings);
  ASSERT_TRUE(complete.ok());
  EXPECT_EQ(complete->memory_limit(), 0);
  EXPECT_EQ(complete->compiler_share(), 0.5);
}

TEST(Settings, BoundsHoldAndAreNamed) {
  EXPECT_EQ(ErrorWith([](auto& s) { s.set_compile_after(0); }), "compile_after must be at least 1; it is 0");
  EXPECT_EQ(ErrorWith([](auto& s) { s.set_grpc_port(70000); }),
            "grpc_port must be at least 0 and at most 65535; it is 70000");
  EXPECT_EQ(ErrorWith([](auto& s) { s.set_send_seconds(0); }),
            "send_seconds must be above 0 and at most 1000000000; it is 0");
  EXPECT_THAT(ErrorWith([](auto& s) { s.set_load_seconds(NAN); }), HasSubstr("load_seconds"));
  EXPECT_THAT(ErrorWith([](auto& s) { s.set_drain_seconds(INFINITY); }), HasSubstr("drain_seconds"));
  EXPECT_THAT(ErrorWith([](auto& s) { s.set_plan_bytes(0); }), HasSubstr("plan_bytes"));
  EXPECT_THAT(ErrorWith([](auto& s) { s.set_shadow_share(2); }), HasSubstr("at least 0 and at most 1"));
  EXPECT_THAT(ErrorWith([](auto& s) { s.clear_model_repository(); }), HasSubstr("--model-repository is required"));
}

TEST(Settings, ChoicesAreAmongThoseOfTheSchemaAndSpelledAsThere) {
  EXPECT_EQ(ErrorWith([](auto& s) { s.set_model_control_mode("sometimes"); }),
            "model_control_mode must be one of all, none, poll, explicit; it is 'sometimes'");
  config::Settings settings = Minimal();
  settings.set_model_control_mode("Explicit");
  EXPECT_EQ(CompleteSettings(settings)->model_control_mode(), "explicit");
}

TEST(Settings, AllModelsAreNamedAlone) {
  EXPECT_THAT(ErrorWith([](auto& s) {
                s.add_load_model("*");
                s.add_load_model("m");
              }),
              HasSubstr("'*', which is all models, beside others"));
}

TEST(Settings, PortsAreDifferent) {
  EXPECT_EQ(ErrorWith([](auto& s) {
              s.set_grpc_port(9);
              s.set_http_port(9);
            }),
            "gRPC and HTTP cannot both have the port 9");
  EXPECT_THAT(ErrorWith([](auto& s) { s.set_metrics_port(8000); }), HasSubstr("HTTP and metrics"));
  config::Settings others = Minimal();
  others.set_metrics_port(8000);
  others.set_metrics_address("127.0.0.2");
  EXPECT_TRUE(CompleteSettings(others).ok());
  config::Settings fewer = Minimal();
  fewer.set_metrics_port(8000);
  fewer.set_allow_http(false);
  EXPECT_TRUE(CompleteSettings(fewer).ok());
  EXPECT_THAT(ErrorWith([](auto& s) {
                s.set_allow_grpc(false);
                s.set_allow_http(false);
                s.set_allow_metrics(false);
              }),
              HasSubstr("no port"));
  config::Settings any = Minimal();
  any.set_grpc_port(0);
  any.set_http_port(0);
  EXPECT_TRUE(CompleteSettings(any).ok());
}

}  // namespace
}  // namespace hearth::server
