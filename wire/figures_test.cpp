#include "wire/figures.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Figures, NumbersHaveThreeFiguresAndAUnitThatFits) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1000), "1,000");
  EXPECT_EQ(CountText(12345678), "12,345,678");
  EXPECT_EQ(RateText(0), "0");
  EXPECT_EQ(RateText(0.25), "0.25");
  EXPECT_EQ(RateText(12.34), "12.3");
  EXPECT_EQ(RateText(1234.4), "1,234");
  EXPECT_EQ(LatencyText(0.000085), "85 µs");
  EXPECT_EQ(LatencyText(0.00124), "1.24 ms");
  EXPECT_EQ(LatencyText(0.0999), "99.9 ms");
  EXPECT_EQ(LatencyText(3.5), "3.50 s");
  EXPECT_EQ(MemoryText(1023), "1023 B");
  EXPECT_EQ(MemoryText(47395635), "45.2 MiB");
  EXPECT_EQ(MemoryText(uint64_t{1} << 40), "1.00 TiB");
  EXPECT_EQ(AgeText(12.9), "12 s");
  EXPECT_EQ(AgeText(301), "5 min");
  EXPECT_EQ(AgeText(12'000), "3 h 20 min");
  EXPECT_EQ(AgeText(187'200), "2 d 4 h");
  EXPECT_EQ(ShareText(0.9734), "97.3 %");
  EXPECT_EQ(WattsText(150.6), "151 W");
  EXPECT_EQ(CelsiusText(61), "61 °C");
  EXPECT_EQ(ClockText(1'772'366'405'250), "2026-03-01 12:00:05 UTC");
}

}  // namespace
}  // namespace hearth
