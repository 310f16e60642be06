#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/status/model_page.h"
#include "server/status/overview_page.h"

namespace hearth::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What would be markup, an attribute's end or another script if it were not escaped.
constexpr const char* kHostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\xff";

v1::ModelStatus HostileModel() {
  v1::ModelStatus model;
  model.set_name(kHostile);
  model.set_version("1");
  model.set_state(kHostile);
  model.set_reason(kHostile);
  return model;
}

void ExpectNoMarkupOf(const std::string& page) {
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("\xff")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&gt;&lt;img src=x"));
  EXPECT_THAT(page, HasSubstr("&amp;amp;"));
}

TEST(StatusPages, NothingFromOutsideBecomesMarkup) {
  v1::ServerStatusResponse status;
  status.set_name(kHostile);
  status.set_device(kHostile);
  v1::GpuStatus& gpu = *status.add_gpus();
  gpu.set_name(kHostile);
  gpu.set_uuid(kHostile);
  *status.add_models() = HostileModel();
  v1::Compilation& compilation = *status.mutable_models(0)->add_compiling();
  compilation.set_method(kHostile);
  compilation.set_pass(kHostile);
  for (v1::RecentError* error : {status.add_model_errors(), status.add_refused_requests()}) {
    error->set_model(kHostile);
    error->set_version(kHostile);
    error->set_code(kHostile);
    error->set_message(kHostile);
  }
  const std::string page = OverviewPage(status);
  ExpectNoMarkupOf(page);
  // In a link a name is one part of the path.
  EXPECT_THAT(page, HasSubstr("href=\"/status/models/%3cscript%3ealert%281%29%3c%2fscript%3e%22%27%3e%3cimg%20src"));

  v1::ModelStatusResponse model;
  *model.mutable_model() = HostileModel();
  v1::Plan& plan = *model.mutable_plans()->add_plans();
  plan.set_method(kHostile);
  plan.set_arguments(kHostile);
  plan.set_sizes(kHostile);
  plan.set_graph(kHostile);
  plan.set_recording(kHostile);
  plan.set_state(v1::Plan::COMPILED);
  v1::Plan::Claim& claim = *plan.add_claims();
  claim.set_text(kHostile);
  claim.set_where(kHostile);
  v1::Plan::Exception& exception = *plan.add_exceptions();
  exception.set_text(kHostile);
  exception.set_node(kHostile);
  exception.set_operator_(kHostile);
  exception.set_where(kHostile);
  v1::Plan::Kernel& kernel = *plan.add_kernels();
  kernel.add_results(kHostile);
  kernel.set_code(kHostile);
  ExpectNoMarkupOf(ModelPage(model));
}

TEST(StatusPages, AnErrorIsNamedByItsLastLineAndShownWhole) {
  v1::ServerStatusResponse status;
  v1::RecentError& error = *status.add_model_errors();
  error.set_message("Traceback:\n  File \"m.py\"\nbuiltins.ValueError: too small\n");
  error.set_count(1234);
  const std::string page = OverviewPage(status);
  EXPECT_THAT(page, HasSubstr("<span class=\"headline\">builtins.ValueError: too small</span>"));
  EXPECT_THAT(page, HasSubstr("<pre>Traceback:\n  File &quot;m.py&quot;"));
  EXPECT_THAT(page, HasSubstr("× 1,234"));
}

TEST(StatusPages, GpusAreShownAsFarAsTheirDriverTells) {
  v1::ServerStatusResponse status;
  v1::GpuStatus& first = *status.add_gpus();
  first.set_name("NVIDIA H200");
  first.set_uuid("GPU-1");
  first.set_utilization(0.25);
  first.set_memory_used_bytes(uint64_t{96} << 30);
  first.set_memory_total_bytes(uint64_t{100} << 30);
  first.set_power_watts(150.5);
  first.set_power_limit_watts(700);
  first.set_temperature_celsius(61);
  status.add_gpus()->set_uuid("GPU-2");
  status.set_gpus_lost(3);
  const std::string page = OverviewPage(status);
  EXPECT_THAT(page, HasSubstr("NVIDIA H200 <span class=\"version\">GPU-1</span>"));
  EXPECT_THAT(page, HasSubstr("<td data-name=\"In use\">25.0 %</td>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"note bad\">96.0 GiB of 100 GiB</span>"));
  EXPECT_THAT(page, HasSubstr("<td data-name=\"Power limit\">700 W</td>"));
  EXPECT_THAT(page, HasSubstr("61 °C"));
  EXPECT_THAT(page, HasSubstr("GPU-2</span></th><td data-name=\"Memory\">–</td><td data-name=\"In use\">–</td>"));
  EXPECT_THAT(page, HasSubstr("GPUs that the driver does not reach: 3"));

  status.mutable_gpus(0)->set_memory_used_bytes(uint64_t{95} << 30);
  EXPECT_THAT(OverviewPage(status), HasSubstr("<span class=\"note\">95.0 GiB of 100 GiB</span>"));
}

TEST(StatusPages, WhereModelsRunOnNoGpuNothingIsSaidOfThem) { EXPECT_THAT(OverviewPage({}), Not(HasSubstr("GPU"))); }

TEST(StatusPages, EmptyOnesAreWhole) {
  const std::string overview = OverviewPage({});
  EXPECT_THAT(overview, HasSubstr("No model is known."));
  EXPECT_THAT(overview, HasSubstr("No model has raised."));
  EXPECT_THAT(overview, HasSubstr("</html>"));
  EXPECT_THAT(ModelPage({}), HasSubstr("No request was answered"));
}

TEST(StatusPages, LatencyAndItsPartsAreShown) {
  v1::ModelStatusResponse status;
  v1::Traffic& traffic = *status.mutable_model()->mutable_traffic();
  traffic.set_interval_seconds(5);
  for (const double p99 : {0.001, 0.002}) {
    v1::TrafficPoint& point = *traffic.add_points();
    point.set_requests(10);
    point.mutable_latency()->set_p50(p99 / 2);
    point.mutable_latency()->set_p99(p99);
  }
  traffic.mutable_latency()->set_p50(0.0005);
  traffic.mutable_latency()->set_p99(0.002);
  traffic.set_mean_infer_seconds(0.0004);
  v1::LatencyBucket& bucket = *traffic.add_distribution();
  bucket.set_from_seconds(0.0005);
  bucket.set_to_seconds(0.0006);
  bucket.set_requests(20);
  const std::string page = ModelPage(status);
  EXPECT_THAT(page, HasSubstr("<path class=\"p99\" d=\"M234.0 80.0L238.0 2.0\""));
  EXPECT_THAT(page, HasSubstr("500 µs"));
  EXPECT_THAT(page, HasSubstr("the model</dt><dd>400 µs</dd>"));
}

}  // namespace
}  // namespace hearth::server
