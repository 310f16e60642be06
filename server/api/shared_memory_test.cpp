// Regions of a GPU's memory with memory of the CPU in its place, and what both kinds have in common. Regions of POSIX
// shared memory are tested from outside (integration_tests/test_shared_memory.py), those of a real GPU by
// integration_tests/gpu.py.
#include "server/api/shared_memory.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/api/device_region.h"
#include "server/api/infer_parameters.h"
#include "server/api/request_message.h"

namespace hearth::server {
namespace {

using ::testing::HasSubstr;
using Kind = SharedRegion::Kind;

constexpr int64_t kDevice = 3;

class DeviceRegionTest : public testing::Test {
 protected:
  // The memory of `kDevice` that the handle "memory" is of.
  absl::StatusOr<at::Tensor> Open(int64_t device, const std::string& handle, int64_t byte_size) {
    if (device != kDevice || handle != "memory") return absl::InvalidArgumentError("invalid device context");
    return memory_.narrow(0, 0, byte_size);
  }

  // A request whose one input lies in the region "r".
  static inference::ModelInferRequest Request(const std::string& datatype, const std::vector<int64_t>& shape,
                                              int64_t offset, int64_t byte_size) {
    inference::ModelInferRequest request;
    auto* input = request.add_inputs();
    input->set_name("x");
    input->set_datatype(datatype);
    input->mutable_shape()->Add(shape.begin(), shape.end());
    auto& parameters = *input->mutable_parameters();
    parameters["shared_memory_region"].set_string_param("r");
    parameters["shared_memory_offset"].set_int64_param(offset);
    parameters["shared_memory_byte_size"].set_int64_param(byte_size);
    return request;
  }

  absl::StatusOr<WireTensor> Read(const inference::ModelInferRequest& request) const {
    InferRequestMessage message{&request, {std::nullopt}};
    if (absl::Status status = ReadRegions(regions_, message); !status.ok()) return status;
    auto inputs = ReadInputs(message);
    if (!inputs.ok()) return inputs.status();
    return inputs->at(0);
  }

  at::Tensor memory_ = at::arange(256, at::TensorOptions(at::kByte));
  SharedRegions regions_{true, [this](int64_t device, const std::string& handle, int64_t byte_size) {
                           return Open(device, handle, byte_size);
                         }};
};

TEST_F(DeviceRegionTest, AnInputLiesOverItsPartOfTheRegion) {
  ASSERT_TRUE(regions_.RegisterDevice("r", kDevice, "memory", 256).ok());
  const auto tensor = Read(Request("INT32", {2, 3}, 32, 24));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->tensor.const_data_ptr(), static_cast<const uint8_t*>(memory_.const_data_ptr()) + 32);
  EXPECT_EQ(tensor->tensor.sizes(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensor->tensor[0][0].item<int32_t>(), 0x23222120);
}

TEST_F(DeviceRegionTest, APartThatIsNotAlignedAndBooleansAreCopied) {
  ASSERT_TRUE(regions_.RegisterDevice("r", kDevice, "memory", 256).ok());
  const auto odd = Read(Request("INT32", {1}, 33, 4));
  ASSERT_TRUE(odd.ok()) << odd.status();
  EXPECT_EQ(odd->tensor[0].item<int32_t>(), 0x24232221);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(odd->tensor.const_data_ptr()) % 4, 0U);
  const auto booleans = Read(Request("BOOL", {3}, 0, 3));
  ASSERT_TRUE(booleans.ok()) << booleans.status();
  EXPECT_EQ(*static_cast<const uint8_t*>(booleans->tensor[2].const_data_ptr()), 1);  // the region has 2
  EXPECT_EQ(memory_[2].item<int>(), 2);
}

TEST_F(DeviceRegionTest, StringsLieInARegionToo) {
  const std::string text("\2\0\0\0ab\0\0\0\0", 10);
  for (size_t i = 0; i < text.size(); ++i) memory_[static_cast<int64_t>(i)] = text[i];
  ASSERT_TRUE(regions_.RegisterDevice("r", kDevice, "memory", 256).ok());
  const auto tensor = Read(Request("BYTES", {2}, 0, 10));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->strings, testing::ElementsAre("ab", ""));
}

TEST_F(DeviceRegionTest, AnOutputIsCopiedToItsPart) {
  ASSERT_TRUE(regions_.RegisterDevice("r", kDevice, "memory", 256).ok());
  const auto region = regions_.Find("r");
  ASSERT_TRUE(region.ok());
  ASSERT_TRUE((*region)->Write(5, at::full({2}, 77, at::TensorOptions(at::kByte))).ok());
  EXPECT_EQ(memory_[4].item<int>(), 4);
  EXPECT_EQ(memory_[5].item<int>(), 77);
  EXPECT_EQ(memory_[6].item<int>(), 77);
  EXPECT_EQ(memory_[7].item<int>(), 7);
}

TEST_F(DeviceRegionTest, WhatIsNoRegionIsRefused) {
  const auto refused = [&](absl::StatusCode code, const absl::Status& status) {
    EXPECT_EQ(status.code(), code) << status;
    return std::string(status.message());
  };
  using enum absl::StatusCode;
  EXPECT_THAT(refused(kInvalidArgument, regions_.RegisterDevice("r", kDevice, "other", 16)),
              HasSubstr("'r': invalid device context"));
  refused(kInvalidArgument, regions_.RegisterDevice("r", kDevice + 1, "memory", 16));
  refused(kInvalidArgument, regions_.RegisterDevice("", kDevice, "memory", 16));
  refused(kInvalidArgument, regions_.RegisterDevice("r", kDevice, "memory", 0));
  refused(kInvalidArgument, regions_.RegisterDevice("r", kDevice, "memory", UINT64_MAX));
  EXPECT_FALSE(regions_.any());
  ASSERT_TRUE(regions_.RegisterDevice("r", kDevice, "memory", 16).ok());
  refused(kAlreadyExists, regions_.RegisterDevice("r", kDevice, "memory", 16));
  refused(kInvalidArgument, Read(Request("INT32", {4}, 4, 16)).status());
  refused(kInvalidArgument, Read(Request("INT32", {3}, 0, 16)).status());
  SharedRegions closed(false, [](int64_t, const std::string&, int64_t) { return at::Tensor(); });
  refused(kFailedPrecondition, closed.RegisterDevice("r", kDevice, "memory", 16));
  SharedRegions without(true);
  EXPECT_THAT(refused(kUnimplemented, without.RegisterDevice("r", kDevice, "memory", 16)),
              HasSubstr("models are not on a GPU here"));
}

TEST_F(DeviceRegionTest, RegionsOfBothKindsAreBoundedTogetherAndEndByTheirKind) {
  for (size_t i = 0; i < SharedRegions::kMostRegions; ++i) {
    ASSERT_TRUE(regions_.RegisterDevice(std::to_string(i), kDevice, "memory", 1).ok());
  }
  EXPECT_EQ(regions_.RegisterDevice("r", kDevice, "memory", 1).code(), absl::StatusCode::kResourceExhausted);
  regions_.Unregister(Kind::kSystem, "5");
  EXPECT_TRUE(regions_.Find("5").ok());
  regions_.Unregister(Kind::kDevice, "5");
  EXPECT_FALSE(regions_.Find("5").ok());
  regions_.UnregisterAll(Kind::kSystem);
  EXPECT_EQ(regions_.List(Kind::kDevice).size(), SharedRegions::kMostRegions - 1);
  EXPECT_TRUE(regions_.List(Kind::kSystem).empty());
  regions_.UnregisterAll(Kind::kDevice);
  EXPECT_FALSE(regions_.any());
}

TEST_F(DeviceRegionTest, ItsMemoryIsHeldUntilTheLastTensorOverItIsGone) {
  const size_t held = memory_.storage().use_count();
  ASSERT_TRUE(regions_.RegisterDevice("r", kDevice, "memory", 256).ok());
  auto tensor = Read(Request("INT32", {4}, 0, 16));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  regions_.UnregisterAll(Kind::kDevice);
  EXPECT_GT(memory_.storage().use_count(), held);
  tensor = absl::CancelledError();
  EXPECT_EQ(memory_.storage().use_count(), held);
}

}  // namespace
}  // namespace hearth::server
