#include "jit/device/stream.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gtest/gtest.h>

namespace hearth {
namespace {

// A device that this library has no code for, whose streams are numbered as they are asked for.
struct CountingDevice final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::XPU> {
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, ++made);
  }
  static inline c10::StreamId made = 0;
};
C10_REGISTER_GUARD_IMPL(XPU, CountingDevice);

TEST(StreamTest, TheCpuHasNone) {
  EXPECT_EQ(std::make_shared<StreamPool>(c10::kCPU)->Take(), nullptr);
  EXPECT_EQ(DefaultStream(c10::kCPU), nullptr);
  WaitForDevice(c10::kCPU);
}

TEST(StreamTest, RunsAtATimeHaveStreamsOfTheirOwnAndTheLastOneGivenBackGoesFirst) {
  auto pool = std::make_shared<StreamPool>(c10::Device(c10::kXPU, 0));
  auto first = pool->Take();
  auto second = pool->Take();
  EXPECT_NE(*first, *second);
  const c10::Stream was_second = *second;
  first.reset();
  second.reset();
  EXPECT_EQ(*pool->Take(), was_second);
  EXPECT_EQ(*pool->Take(), was_second);
  EXPECT_EQ(CountingDevice::made, 2);
}

}  // namespace
}  // namespace hearth
