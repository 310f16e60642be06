#include "jit/device/device.h"

#include <ATen/core/Dict.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace hearth {
namespace {

using Devices = std::vector<c10::Device>;

Devices OfFourGpus(const std::string& name) {
  return DevicesOf(name, [] { return 4; });
}

std::string ErrorOf(const std::string& name, int gpus) {
  try {
    DevicesOf(name, [gpus] { return gpus; });
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

c10::Device GpuAt(int index) { return {c10::kCUDA, static_cast<c10::DeviceIndex>(index)}; }

TEST(DeviceTest, TheCpuIsAlwaysThere) { EXPECT_EQ(OpenDevices("cpu"), Devices{c10::Device(c10::kCPU)}); }

TEST(DeviceTest, GpusAreNamedOneByOneOrAllAtOnce) {
  EXPECT_EQ(OfFourGpus("cuda"), Devices{GpuAt(0)});
  EXPECT_EQ(OfFourGpus("cuda:3"), Devices{GpuAt(3)});
  EXPECT_EQ(OfFourGpus("cuda:2,cuda:0"), (Devices{GpuAt(2), GpuAt(0)}));
  EXPECT_EQ(OfFourGpus("cuda:all"), (Devices{GpuAt(0), GpuAt(1), GpuAt(2), GpuAt(3)}));
}

TEST(DeviceTest, AnUnknownDeviceIsNamedWithWhatIsKnown) {
  for (const char* name : {"abacus:1", "cuda:x", "cuda:-1", "cpu,cuda", "cuda:0,", "", "cuda:0,cuda:all", "xpu"}) {
    const std::string error = ErrorOf(name, 4);
    EXPECT_NE(error.find(std::string("device \"") + name + "\" is not known; expected cpu, cuda, "), std::string::npos)
        << error;
  }
  EXPECT_EQ(ErrorOf("cuda,cuda:0", 4), "device \"cuda,cuda:0\" names GPU 0 twice");
}

TEST(DeviceTest, WhatIsMissingIsSaidWithWhatIsThere) {
  EXPECT_EQ(ErrorOf("cuda:1,cuda:2", 2), "device \"cuda:1,cuda:2\" is not there: this machine has 2 usable GPUs");
  EXPECT_EQ(ErrorOf("cuda:1", 1), "device \"cuda:1\" is not there: this machine has 1 usable GPU");
  EXPECT_EQ(ErrorOf("cuda:all", 0), "device \"cuda:all\" is not there: this machine has 0 usable GPUs");
}

TEST(DeviceTest, AValueThatIsThereAlreadyIsNotCopied) {
  c10::impl::GenericList list(c10::TensorType::get());
  list.push_back(at::ones({2}));
  const c10::IValue value(list);
  EXPECT_TRUE(MoveToDevice(value, c10::kCPU).is(value));
}

TEST(DeviceTest, ACopySharesNoTensorWithTheValue) {
  c10::impl::GenericList list(c10::TensorType::get());
  list.push_back(at::ones({2}));
  const c10::IValue copy = CopyToDevice(list, c10::kCPU);
  const at::Tensor tensor = copy.toListRef()[0].toTensor();
  EXPECT_NE(tensor.const_data_ptr(), list.get(0).toTensor().const_data_ptr());
  EXPECT_TRUE(tensor.equal(at::ones({2})));
}

TEST(DeviceTest, OnlyWhatIsLargeAndGoesToAGpuIsPageLocked) {
  EXPECT_FALSE(NewLocked({1024, 1024}, at::kFloat, c10::kCPU).defined());
  EXPECT_FALSE(NewLocked({3, 5}, at::kFloat, GpuAt(0)).defined());
}

TEST(DeviceTest, TensorsInsideContainersMoveAndTheRestStays) {
  c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
  dict.insert("a", at::ones({2}));
  dict.insert("n", 3);
  const c10::IValue moved = MoveToDevice(c10::ivalue::Tuple::create({dict, 1.5}), c10::kMeta);
  const auto& elements = moved.toTupleRef().elements();
  EXPECT_TRUE(elements[0].toGenericDict().at("a").toTensor().is_meta());
  EXPECT_EQ(elements[0].toGenericDict().at("n").toInt(), 3);
  EXPECT_EQ(elements[1].toDouble(), 1.5);
  EXPECT_FALSE(dict.at("a").toTensor().is_meta());
  EXPECT_EQ(DeviceIn(moved), c10::Device(c10::kMeta));
  EXPECT_EQ(DeviceIn(dict), std::nullopt);
}

}  // namespace
}  // namespace hearth
