#include "server/rest/metrics_page.h"

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "server/telemetry/metrics.h"

namespace hearth::server {
namespace {

HttpResponse MakePage(const prometheus::Collectable& metrics) {
  try {
    const auto text = std::make_shared<const std::string>(MetricsText(metrics));
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .pieces = {{text, *text}}};
  } catch (const std::exception& error) {
    return {.status = 500, .body = std::string(error.what()) + "\n"};
  }
}

}  // namespace

MetricsPage::MetricsPage(const prometheus::Collectable& metrics) : metrics_(metrics), thread_([this] { Run(); }) {}

MetricsPage::~MetricsPage() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void MetricsPage::Answer(HttpResponder responder) {
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(responder));
  }
  changed_.notify_one();
}

void MetricsPage::Run() {
  while (true) {
    std::vector<HttpResponder> asking;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
      if (stop_) return;
      asking.swap(waiting_);
    }
    const HttpResponse page = MakePage(metrics_);
    for (const HttpResponder& responder : asking) responder.Answer(page);
  }
}

}  // namespace hearth::server
