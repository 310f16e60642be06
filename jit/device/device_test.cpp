#include "jit/device/device.h"

#include <ATen/core/Dict.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(DeviceTest, TheCpuIsAlwaysThere) { EXPECT_EQ(OpenDevice("cpu"), c10::Device(c10::kCPU)); }

TEST(DeviceTest, AnUnknownDeviceIsNamed) {
  try {
    OpenDevice("abacus:1");
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("abacus:1"), std::string::npos) << error.what();
  }
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
}

}  // namespace
}  // namespace hearth
