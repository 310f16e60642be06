// Answers /metrics. The text is made on a thread of its own, one at a time: whoever asks meanwhile gets the next one,
// shared by all who wait for it.
#pragma once

#include <prometheus/collectable.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "server/http/http_server.h"

namespace hearth::server {

class MetricsPage {
 public:
  // `metrics` outlives the page.
  explicit MetricsPage(const prometheus::Collectable& metrics);
  // Those that still wait get status 500.
  ~MetricsPage();

  void Answer(HttpResponder responder);

 private:
  void Run();

  const prometheus::Collectable& metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<HttpResponder> waiting_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace hearth::server
