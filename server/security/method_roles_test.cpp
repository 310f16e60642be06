#include "server/security/method_roles.h"

#include <gtest/gtest.h>

#include "proto/health/health.pb.h"
#include "proto/hearth.pb.h"
#include "proto/inference/service.pb.h"
#include "proto/reflection/reflection.pb.h"

namespace hearth::server {
namespace {

TEST(MethodRoles, EveryMethodOfEveryServiceHasARole) {
  int methods = 0;
  for (const google::protobuf::FileDescriptor* file :
       {inference::ModelInferRequest::descriptor()->file(), v1::CallRequest::descriptor()->file(),
        grpc::health::v1::HealthCheckRequest::descriptor()->file(),
        grpc::reflection::v1alpha::ServerReflectionRequest::descriptor()->file()}) {
    EXPECT_GT(file->service_count(), 0) << file->name();
    for (int i = 0; i < file->service_count(); ++i) {
      const google::protobuf::ServiceDescriptor& service = *file->service(i);
      for (int j = 0; j < service.method_count(); ++j, ++methods) {
        const std::string path = "/" + service.full_name() + "/" + service.method(j)->name();
        EXPECT_TRUE(RoleOfMethod(path).has_value()) << path << " needs a role in method_roles.cpp";
      }
    }
  }
  EXPECT_GE(methods, 20);
}

TEST(MethodRoles, WhatIsNotInTheTableHasNone) {
  for (const char* path : {"", "/", "/inference.GRPCInferenceService/", "/inference.GRPCInferenceService/Nothing",
                           "inference.GRPCInferenceService/ModelInfer", "/zzz/z"}) {
    EXPECT_EQ(RoleOfMethod(path), std::nullopt) << path;
  }
}

TEST(MethodRoles, RoutesHaveTheRoleOfWhatTheyDo) {
  EXPECT_EQ(RoleOfRoute("GET", "/v2/health/ready"), Role::kAnyone);
  EXPECT_EQ(RoleOfRoute("HEAD", "/v2/models/m/ready"), Role::kAnyone);
  EXPECT_EQ(RoleOfRoute("GET", "/v2/models/m/versions/3/ready"), Role::kAnyone);
  EXPECT_EQ(RoleOfRoute("GET", "/metrics"), Role::kRead);
  EXPECT_EQ(RoleOfRoute("GET", "/v2/"), Role::kRead);
  EXPECT_EQ(RoleOfRoute("POST", "/v2/models/m/infer"), Role::kInfer);
  EXPECT_EQ(RoleOfRoute("POST", "/v2/models/m/versions/1/infer"), Role::kInfer);
  EXPECT_EQ(RoleOfRoute("POST", "/v2/repository/models/m/unload"), Role::kAdmin);
  EXPECT_EQ(RoleOfRoute("GET", "/v2/logging"), Role::kRead);
  EXPECT_EQ(RoleOfRoute("POST", "/v2/logging"), Role::kAdmin);
}

TEST(MethodRoles, ARouteThatIsNotInTheTableHasNone) {
  for (const char* path : {"", "/", "//", "/v3", "/v2//", "/v2/models//infer", "/v2/models/m/infer/x", "/metrics//",
                           "/V2/health/live", "/v2/models/a/b/infer"}) {
    EXPECT_EQ(RoleOfRoute("POST", path), std::nullopt) << path;
  }
  EXPECT_EQ(RoleOfRoute("GET", "/v2/repository/models/m/unload"), std::nullopt);
  EXPECT_EQ(RoleOfRoute("get", "/metrics"), std::nullopt);
}

}  // namespace
}  // namespace hearth::server
