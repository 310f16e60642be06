#include "server/telemetry/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CompilerSample NothingCompiled() { return {}; }

TEST(Metrics, PlansAndTheirCompilerAreCounted) {
  const MetricsCollector collector(
      [] {
        return std::vector<ModelSample>{
            {"m", "1", {}, true, true, 0, 0, 9, {4, 2}, 5000, 6000, 800, 3, 1, 2, {70, 80, 90}}};
      },
      [] { return CompilerSample{2, 1, 40, 5, 6, 7, 1.5, 30, 2, 11, 12, 13, 14}; });
  const std::string text = MetricsText(collector);
  EXPECT_THAT(text, HasSubstr("hearth_argument_specs{model=\"m\",version=\"1\"} 9"));
  EXPECT_THAT(text, HasSubstr("hearth_plans{model=\"m\",version=\"1\",tier=\"1\"} 4"));
  EXPECT_THAT(text, HasSubstr("hearth_plans{model=\"m\",version=\"1\",tier=\"2\"} 2"));
  EXPECT_THAT(text, HasSubstr("hearth_plan_bytes{model=\"m\",version=\"1\"} 5000"));
  EXPECT_THAT(text, HasSubstr("hearth_weight_copy_bytes{model=\"m\",version=\"1\"} 6000"));
  EXPECT_THAT(text, HasSubstr("hearth_recorded_bytes{model=\"m\",version=\"1\"} 800"));
  EXPECT_THAT(text, HasSubstr("hearth_plan_bailouts_total{model=\"m\",version=\"1\"} 3"));
  EXPECT_THAT(text, HasSubstr("hearth_plan_exceptions_total{model=\"m\",version=\"1\"} 1"));
  EXPECT_THAT(text, HasSubstr("# TYPE hearth_plan_bailouts_total counter"));
  EXPECT_THAT(text, HasSubstr("hearth_guard_failures_total{model=\"m\",version=\"1\"} 2"));
  EXPECT_THAT(text, HasSubstr("hearth_tier_calls_total{model=\"m\",version=\"1\",tier=\"0\"} 70"));
  EXPECT_THAT(text, HasSubstr("hearth_tier_calls_total{model=\"m\",version=\"1\",tier=\"2\"} 90"));
  EXPECT_THAT(text, HasSubstr("hearth_compiler_queued 2"));
  EXPECT_THAT(text, HasSubstr("hearth_compilations_total{outcome=\"failed\"} 5"));
  EXPECT_THAT(text, HasSubstr("hearth_compiler_processor_seconds_total 1.5"));
  EXPECT_THAT(text, HasSubstr("hearth_shadow_runs_total 30"));
  EXPECT_THAT(text, HasSubstr("hearth_shadow_differences_total 2"));
  EXPECT_THAT(text, HasSubstr("hearth_fused_kernels{state=\"made\"} 11"));
  EXPECT_THAT(text, HasSubstr("hearth_fused_kernels{state=\"read\"} 12"));
  EXPECT_THAT(text, HasSubstr("hearth_fused_kernels{state=\"failed\"} 13"));
  EXPECT_THAT(text, HasSubstr("hearth_fused_kernels{state=\"waiting\"} 14"));
}

TEST(Metrics, WhatModelsHoldAndHowOftenTheyWereUnloadedIsTold) {
  MetricsCollector collector(
      [] {
        ModelSample sample{.model = "m", .version = "1", .statistics = {}, .loaded = true};
        sample.weight_bytes = 500;
        sample.code_bytes = 70;
        return std::vector{sample};
      },
      [] { return CompilerSample(); });
  EXPECT_THAT(MetricsText(collector), Not(HasSubstr("hearth_models_memory_bytes")));
  collector.ShowMemory([] { return MemorySample{{.host = 1000, .gpus = {{1, 700}}}, 2000, 900, 3, 4, 5}; });
  const std::string text = MetricsText(collector);
  EXPECT_THAT(text, HasSubstr("hearth_model_weight_bytes{model=\"m\",version=\"1\"} 500"));
  EXPECT_THAT(text, HasSubstr("hearth_model_code_bytes{model=\"m\",version=\"1\"} 70"));
  EXPECT_THAT(text, HasSubstr("hearth_models_memory_bytes 1000"));
  EXPECT_THAT(text, HasSubstr("hearth_models_memory_budget_bytes 2000"));
  EXPECT_THAT(text, HasSubstr("hearth_models_gpu_memory_bytes{gpu=\"1\"} 700"));
  EXPECT_THAT(text, HasSubstr("hearth_models_gpu_memory_budget_bytes 900"));
  EXPECT_THAT(text, HasSubstr("hearth_idle_unloads_total{reason=\"time\"} 3"));
  EXPECT_THAT(text, HasSubstr("hearth_idle_unloads_total{reason=\"room\"} 4"));
  EXPECT_THAT(text, HasSubstr("hearth_idle_loads_total 5"));
}

TEST(Metrics, WhatIsMirroredIsCounted) {
  MetricsCollector collector([] { return std::vector<ModelSample>(); }, NothingCompiled);
  EXPECT_THAT(MetricsText(collector), Not(HasSubstr("hearth_mirror")));
  collector.ShowMirrors([] { return MirrorSample{.files = 3, .bytes = 400, .failures = 5}; });
  const std::string text = MetricsText(collector);
  EXPECT_THAT(text, HasSubstr("hearth_mirror_files_total 3"));
  EXPECT_THAT(text, HasSubstr("hearth_mirror_bytes_total 400"));
  EXPECT_THAT(text, HasSubstr("hearth_mirror_failures_total 5"));
}

TEST(Metrics, SequencesThatAreUnderWayAreCounted) {
  MetricsCollector collector([] { return std::vector<ModelSample>(); }, NothingCompiled);
  collector.ShowSequences([] { return size_t{7}; });
  EXPECT_THAT(MetricsText(collector), HasSubstr("hearth_sequences 7"));
}

TEST(Metrics, ConnectionsThatWereEndedAreCountedByReason) {
  const MetricsCollector collector([] { return std::vector<ModelSample>(); }, NothingCompiled, nullptr,
                                   [] {
                                     return CountsByReason{{"frames", 3}, {"resets", 0}};
                                   });
  const std::string text = MetricsText(collector);
  EXPECT_THAT(text, HasSubstr("# TYPE hearth_grpc_connections_ended_total counter"));
  EXPECT_THAT(text, HasSubstr("hearth_grpc_connections_ended_total{reason=\"frames\"} 3"));
  EXPECT_THAT(text, HasSubstr("hearth_grpc_connections_ended_total{reason=\"resets\"} 0"));
}

TEST(Metrics, CountersCarryTritonsNamesAndLabels) {
  ModelStatistics statistics;
  statistics.Loaded(std::chrono::milliseconds(250), std::chrono::milliseconds(125));
  statistics.Admit(100);
  statistics.Began();
  statistics.Succeeded(
      {std::chrono::microseconds(700), std::chrono::microseconds(12), {}, std::chrono::microseconds(600), {}}, 8, 8);
  statistics.Refused(FailureReason::kRejected, {});
  const MetricsCollector collector(
      [&] {
        return std::vector<ModelSample>{{"digits", "3", statistics.snapshot(), true, true, 4096}};
      },
      NothingCompiled);

  const std::string text = MetricsText(collector);
  EXPECT_THAT(text, HasSubstr("# TYPE nv_inference_request_success counter"));
  EXPECT_THAT(text, HasSubstr("nv_inference_request_success{model=\"digits\",version=\"3\"} 1"));
  EXPECT_THAT(text, HasSubstr("nv_inference_count{model=\"digits\",version=\"3\"} 8"));
  EXPECT_THAT(text, HasSubstr("nv_inference_exec_count{model=\"digits\",version=\"3\"} 1"));
  EXPECT_THAT(text, HasSubstr("nv_inference_queue_duration_us{model=\"digits\",version=\"3\"} 12"));
  EXPECT_THAT(text, HasSubstr("nv_inference_request_duration_us{model=\"digits\",version=\"3\"} 700"));
  EXPECT_THAT(text, HasSubstr("nv_model_load_duration_secs{model=\"digits\",version=\"3\"} 0.25"));
  EXPECT_THAT(text, HasSubstr("hearth_warm_up_seconds{model=\"digits\",version=\"3\"} 0.125"));
  EXPECT_THAT(text, HasSubstr("hearth_model_weight_bytes{model=\"digits\",version=\"3\"} 4096"));
}

TEST(Metrics, RunsAreCountedByTheirBatch) {
  ModelStatistics statistics;
  for (const uint64_t rows : {1, 3, 4, 300}) statistics.Succeeded({}, rows, rows);
  statistics.BatchFailed(BatchFailure::kMemory);
  const MetricsCollector collector(
      [&] {
        return std::vector<ModelSample>{{"m", "1", statistics.snapshot(), true, true}};
      },
      NothingCompiled);
  const std::string text = MetricsText(collector);
  const auto bucket = [](const char* bound, int count) {
    return std::string("hearth_batch_size_bucket{model=\"m\",version=\"1\",le=\"") + bound + "\"} " +
           std::to_string(count);
  };
  for (const auto& [bound, count] : {std::pair("1", 1), {"2", 1}, {"4", 3}, {"128", 3}, {"+Inf", 4}}) {
    EXPECT_THAT(text, HasSubstr(bucket(bound, count)));
  }
  EXPECT_THAT(text, HasSubstr("hearth_batch_size_sum{model=\"m\",version=\"1\"} 308"));
  EXPECT_THAT(text, HasSubstr("hearth_batch_failures_total{model=\"m\",version=\"1\",reason=\"MEMORY\"} 1"));
  EXPECT_THAT(text, HasSubstr("hearth_batch_failures_total{model=\"m\",version=\"1\",reason=\"ROWS\"} 0"));
}

TEST(Metrics, EveryFailureReasonIsThereFromTheStart) {
  const MetricsCollector collector([] { return std::vector<ModelSample>{{"m", "1", {}}}; }, NothingCompiled);
  const std::string text = MetricsText(collector);
  for (const char* reason : {"REJECTED", "CANCELED", "BACKEND", "OTHER"}) {
    EXPECT_THAT(text, HasSubstr(std::string("nv_inference_request_failure{model=\"m\",version=\"1\",reason=\"") +
                                reason + "\"} 0"));
  }
}

TEST(Metrics, FailedLoadsAreCountedAlsoWhereNoVersionIsKnown) {
  ModelStatistics statistics;
  statistics.LoadFailed();
  statistics.Loaded(std::chrono::seconds(1), {});
  statistics.LoadFailed();
  const MetricsCollector collector(
      [&] {
        return std::vector<ModelSample>{
            {"m", "1", statistics.snapshot(), true, true}, {"n", "1", {}}, {"wrong", "", statistics.snapshot()}};
      },
      NothingCompiled);
  const std::string text = MetricsText(collector);
  EXPECT_THAT(text, HasSubstr("# TYPE hearth_model_load_failures_total counter"));
  EXPECT_THAT(text, HasSubstr("hearth_model_load_failures_total{model=\"m\",version=\"1\"} 2"));
  EXPECT_THAT(text, HasSubstr("hearth_model_load_failures_total{model=\"n\",version=\"1\"} 0"));
  EXPECT_THAT(text, HasSubstr("hearth_model_load_failures_total{model=\"wrong\",version=\"\"} 2"));
}

TEST(Metrics, WhatTheServerCannotMeasureIsAbsent) {
  const MetricsCollector collector([] { return std::vector<ModelSample>{}; }, NothingCompiled);
  EXPECT_THAT(MetricsText(collector), Not(HasSubstr("nv_gpu_")));
  EXPECT_THAT(MetricsText(collector), HasSubstr("nv_cpu_memory_used_bytes"));
}

TEST(Metrics, HistogramBucketsAreCumulative) {
  ModelStatistics statistics;
  for (int milliseconds : {2, 2, 40}) {
    statistics.Admit(100);
    statistics.Began();
    statistics.Succeeded({std::chrono::milliseconds(milliseconds), {}, {}, {}, {}}, 1, 1);
  }
  const MetricsCollector collector(
      [&] {
        return std::vector<ModelSample>{{"m", "1", statistics.snapshot(), true, true}};
      },
      NothingCompiled);
  const std::string text = MetricsText(collector);
  EXPECT_THAT(text, HasSubstr("hearth_request_duration_seconds_bucket{model=\"m\",version=\"1\",le=\"0.0025\"} 2"));
  EXPECT_THAT(text, HasSubstr("hearth_request_duration_seconds_bucket{model=\"m\",version=\"1\",le=\"+Inf\"} 3"));
  EXPECT_THAT(text, HasSubstr("hearth_request_duration_seconds_count{model=\"m\",version=\"1\"} 3"));
}

TEST(Metrics, VersionsThatDoNotServeAreNotReadyAndKeepTheirCounters) {
  ModelStatistics statistics;
  statistics.Refused(FailureReason::kOther, {});
  const MetricsCollector collector(
      [&] {
        return std::vector<ModelSample>{
            {"m", "1", {}, true, true, 4096}, {"m", "2", statistics.snapshot()}, {"broken", "", {}}};
      },
      NothingCompiled);
  const std::string text = MetricsText(collector);
  EXPECT_THAT(text, HasSubstr("hearth_model_ready{model=\"m\",version=\"1\"} 1"));
  EXPECT_THAT(text, HasSubstr("hearth_model_ready{model=\"m\",version=\"2\"} 0"));
  EXPECT_THAT(text, HasSubstr("hearth_model_ready{model=\"broken\",version=\"\"} 0"));
  EXPECT_THAT(text, HasSubstr("nv_inference_request_failure{model=\"m\",version=\"2\",reason=\"OTHER\"} 1"));
  // Nobody knows these of what is not loaded.
  EXPECT_THAT(text, Not(HasSubstr("hearth_model_weight_bytes{model=\"m\",version=\"2\"}")));
  EXPECT_THAT(text, Not(HasSubstr("nv_inference_count{model=\"broken\"")));
}

TEST(Metrics, AModelsConfigurationGivesItsSeriesLabelsAndBuckets) {
  ModelStatistics statistics;
  statistics.SetMetrics({.labels = {{"_team", "a \"b\""}}, .request_durations = {0.5}, .batch_sizes = {3, 5}});
  for (const int rows : {3, 4, 300}) {
    statistics.Admit(100);
    statistics.Began();
    statistics.Succeeded({std::chrono::milliseconds(250), {}, {}, {}, {}}, rows, rows);
  }
  const MetricsCollector collector(
      [&] {
        return std::vector<ModelSample>{{"m", "1", statistics.snapshot(), true, true, 4096}, {"n", "1", {}}};
      },
      NothingCompiled);
  const std::string text = MetricsText(collector);
  const std::string of_m = R"({model="m",version="1",_team="a \"b\"")";
  EXPECT_THAT(text, HasSubstr("nv_inference_request_success" + of_m + "} 3\n"));
  EXPECT_THAT(text, HasSubstr("hearth_model_weight_bytes" + of_m + "} 4096\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_request_failure" + of_m + ",reason=\"OTHER\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("nv_inference_request_success{model=\"n\",version=\"1\"} 0\n"));
  const std::string durations = "hearth_request_duration_seconds";
  EXPECT_THAT(text,
              HasSubstr(durations + "_count" + of_m + "} 3\n" + durations + "_sum" + of_m + "} 0.75\n" + durations +
                        "_bucket" + of_m + ",le=\"0.5\"} 3\n" + durations + "_bucket" + of_m + ",le=\"+Inf\"} 3\n"));
  const std::string sizes = "hearth_batch_size_bucket";
  EXPECT_THAT(text, HasSubstr(sizes + of_m + ",le=\"3\"} 1\n" + sizes + of_m + ",le=\"5\"} 2\n" + sizes + of_m +
                              ",le=\"+Inf\"} 3\n"));
}

TEST(Metrics, WaitingAndComputingHaveHistogramsOfTheirOwn) {
  ModelStatistics statistics;
  statistics.Admit(100);
  statistics.Began();
  statistics.Succeeded(
      {std::chrono::milliseconds(50), std::chrono::milliseconds(3), {}, std::chrono::milliseconds(20), {}}, 1, 1);
  const MetricsCollector collector(
      [&] {
        return std::vector<ModelSample>{{"m", "1", statistics.snapshot(), true, true}};
      },
      NothingCompiled);
  const std::string text = MetricsText(collector);
  EXPECT_THAT(text, HasSubstr("hearth_queue_duration_seconds_bucket{model=\"m\",version=\"1\",le=\"0.0025\"} 0"));
  EXPECT_THAT(text, HasSubstr("hearth_queue_duration_seconds_bucket{model=\"m\",version=\"1\",le=\"0.005\"} 1"));
  EXPECT_THAT(text, HasSubstr("hearth_compute_duration_seconds_bucket{model=\"m\",version=\"1\",le=\"0.01\"} 0"));
  EXPECT_THAT(text, HasSubstr("hearth_compute_duration_seconds_bucket{model=\"m\",version=\"1\",le=\"0.025\"} 1"));
  EXPECT_THAT(text, HasSubstr("hearth_compute_duration_seconds_sum{model=\"m\",version=\"1\"} 0.02"));
}

}  // namespace
}  // namespace hearth::server
