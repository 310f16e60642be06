#include "server/telemetry/gpu_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/telemetry/metrics.h"

namespace hearth::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(GpuReader, ThereIsNoneWhereTheLibraryIsNot) { EXPECT_EQ(GpuReader::Open("libnothing.so.1"), nullptr); }

TEST(GpuReader, TellsWhatTheDriverDoesAndNothingElse) {
  const auto reader = GpuReader::Open(HEARTH_FAKE_NVML);
  ASSERT_NE(reader, nullptr);
  const std::vector<GpuSample> samples = reader->Read().gpus;
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].uuid, "GPU-0");
  EXPECT_EQ(samples[0].utilization, 0.25);
  EXPECT_EQ(samples[0].memory_total, 1000);
  EXPECT_EQ(samples[0].memory_used, 600);
  EXPECT_DOUBLE_EQ(*samples[0].power_usage, 150.5);
  EXPECT_DOUBLE_EQ(*samples[0].power_limit, 700);
  EXPECT_DOUBLE_EQ(*samples[0].energy_consumption, 2.5);
  EXPECT_EQ(samples[0].name, "Fake 0");
  EXPECT_EQ(samples[0].temperature, 61);
  EXPECT_EQ(samples[1].uuid, "GPU-2");
  EXPECT_EQ(samples[1].name, "");
  EXPECT_EQ(samples[1].memory_used, 600);
  EXPECT_FALSE(samples[1].utilization.has_value());
  EXPECT_FALSE(samples[1].temperature.has_value());
}

TEST(GpuReader, GpusThatCannotBeReachedAreCountedButNotThoseThatMayNotBeUsed) {
  EXPECT_EQ(GpuReader::Open(HEARTH_FAKE_NVML)->Read().lost, 2u);
}

TEST(GpuReader, ItsSamplesHaveTritonsNames) {
  const auto reader = GpuReader::Open(HEARTH_FAKE_NVML);
  const MetricsCollector collector([] { return std::vector<ModelSample>(); }, [] { return CompilerSample(); },
                                   [&] { return reader->Read(); });
  const std::string text = MetricsText(collector);
  EXPECT_THAT(text, HasSubstr("# TYPE nv_gpu_utilization gauge"));
  EXPECT_THAT(text, HasSubstr("nv_gpu_utilization{gpu_uuid=\"GPU-0\"} 0.25"));
  EXPECT_THAT(text, HasSubstr("nv_gpu_memory_used_bytes{gpu_uuid=\"GPU-2\"} 600"));
  EXPECT_THAT(text, HasSubstr("# TYPE nv_energy_consumption counter"));
  EXPECT_THAT(text, Not(HasSubstr("nv_gpu_power_usage{gpu_uuid=\"GPU-2\"}")));
  EXPECT_THAT(text, HasSubstr("hearth_gpu_temperature_celsius{gpu_uuid=\"GPU-0\"} 61"));
  EXPECT_THAT(text, HasSubstr("hearth_gpus_lost 2"));
}

TEST(GpuReader, ThatNoneIsLostIsSaidWhereGpusAreReadAlone) {
  const auto text = [](std::function<GpuReading()> gpus) {
    return MetricsText(
        MetricsCollector([] { return std::vector<ModelSample>(); }, [] { return CompilerSample(); }, std::move(gpus)));
  };
  EXPECT_THAT(text([] { return GpuReading(); }), HasSubstr("hearth_gpus_lost 0"));
  EXPECT_THAT(text(nullptr), Not(HasSubstr("hearth_gpus_lost")));
}

}  // namespace
}  // namespace hearth::server
