#include "benchmarks/closed_loop.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <thread>
#include <vector>

namespace hearth::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

int RunClosedLoop(int clients, double seconds, const std::function<Call(int client)>& connect) {
  std::atomic<bool> measuring{false}, stop{false}, failed{false};
  std::vector<std::vector<double>> latencies(static_cast<size_t>(clients));  // in microseconds
  const auto run_client = [&](int client) {
    try {
      const Call call = connect(client);
      while (!stop.load(std::memory_order_relaxed)) {
        const auto start = Clock::now();
        if (!call()) {
          failed = true;
          return;
        }
        const double micros = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
        if (measuring.load(std::memory_order_relaxed)) latencies[static_cast<size_t>(client)].push_back(micros);
      }
    } catch (const std::exception& error) {
      std::cerr << error.what() << "\n";
      failed = true;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) threads.emplace_back(run_client, i);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  measuring = true;
  const auto start = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();

  std::vector<double> all;
  for (const auto& some : latencies) all.insert(all.end(), some.begin(), some.end());
  if (failed || all.empty()) return 1;
  std::sort(all.begin(), all.end());
  std::printf("{\"requests\": %zu, \"per_second\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", all.size(),
              static_cast<double>(all.size()) / elapsed, all[all.size() / 2], all[all.size() * 99 / 100]);
  return 0;
}

}  // namespace hearth::benchmarks
