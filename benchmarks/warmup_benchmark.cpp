// What requests to models that were just loaded wait for: warmup_benchmark capacity|off|on|torch.jit FOLDER.
//
// FOLDER has NAME/1/model.pt and NAME/inputs.pt for each model: a tuple of argument lists, the kinds of its requests.
// Each request is to a model and of a kind drawn at random; in the k-th quarter of the requests, of the first 2k kinds.
// In the middle of them some models are loaded again beside the traffic, as by a daemon whose repository has changed:
// all at once, each with the one that serves as its predecessor, whose place it takes when the plans of that are made.
//
// capacity: requests of all quarters a second without a compiler, warm, with twice as many under way as threads.
// The others are hearth without and with its compiler, and LibTorch's executor: --requests are sent from the moment
// when all models are loaded, at the times of a Poisson process of --rate a second, whatever has been answered by then.
// A latency counts from the time when the request was due. Requests and times depend on --seed alone. With --clients,
// so many clients take the requests one after the other instead, each when it has its last answer.
// --warm calls each model with each kind before, as the daemon does with a configuration's samples.
//
// Prints a line of JSON; --output takes the requests in the order of their times, as four 32-bit floats (when it was
// due in seconds; in microseconds its latency, the time from being taken up to the answer, and the processor time of
// its thread meanwhile) and two 16-bit numbers (model, kind).
#include <sys/prctl.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <tuple>

#include "benchmarks/resident_code.h"
#include "benchmarks/served_models.h"
#include "jit/archive/saved_value.h"

namespace {

using hearth::benchmarks::Fail;
using hearth::benchmarks::ServedModel;
using hearth::benchmarks::Server;
using Clock = std::chrono::steady_clock;

// As the daemon's --warmup-seconds.
constexpr std::chrono::seconds kWarmupTime{60};

Clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double SecondsOf(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Settings {
  std::string way;
  std::filesystem::path folder;
  std::string output;
  Server::Settings server;
  size_t requests = 10000;
  double rate = 0;
  uint64_t seed = 1;
  int senders = 0;
  int clients = 0;
  bool warm = false;
  std::vector<std::string> swapped;
  double seconds = 3;
};

// What may be replaced while requests are being sent to it.
class Slot {
 public:
  std::string name;
  std::string archive;
  std::vector<std::vector<c10::IValue>> kinds;

  std::shared_ptr<ServedModel> model() const {
    const std::lock_guard lock(mutex_);
    return model_;
  }
  std::shared_ptr<ServedModel> Exchange(std::shared_ptr<ServedModel> model) {
    const std::lock_guard lock(mutex_);
    return std::exchange(model_, std::move(model));
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<ServedModel> model_;
};

using Slots = std::vector<std::unique_ptr<Slot>>;

Slots LoadAll(Server& server, const Settings& settings) {
  Slots slots;
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(settings.folder)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  for (const auto& folder : folders) {
    auto slot = std::make_unique<Slot>();
    slot->name = folder.filename();
    slot->archive = folder / "1" / "model.pt";
    const c10::IValue kinds = hearth::ReadSavedFile(folder / "inputs.pt");
    for (const c10::IValue& kind : kinds.toTupleRef().elements()) {
      slot->kinds.push_back(kind.toTupleRef().elements().vec());
    }
    slot->Exchange(server.Load(slot->archive, nullptr));
    if (settings.warm) slot->model()->WarmUp(slot->kinds);
    slots.push_back(std::move(slot));
  }
  if (slots.empty()) Fail("there is no model in " + settings.folder.string());
  return slots;
}

// Counts down to zero and says so to one who waits.
class Pending {
 public:
  explicit Pending(size_t count) : left_(count) {}
  void Done() {
    if (left_.fetch_sub(1) != 1) return;
    const std::lock_guard lock(mutex_);
    none_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return none_; });
  }

 private:
  std::atomic<size_t> left_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool none_ = false;
};

struct Request {
  double due = 0;
  uint16_t model = 0;
  uint16_t kind = 0;
};

// Of `count`, `index` says what part of the run it belongs to.
Request Draw(const Slots& slots, size_t index, size_t count, std::mt19937_64& random) {
  Request request;
  request.model = static_cast<uint16_t>(random() % slots.size());
  const size_t quarter = 4 * index / count;
  const size_t kinds = std::min(slots[request.model]->kinds.size(), 2 * (quarter + 1));
  request.kind = static_cast<uint16_t>(random() % kinds);
  return request;
}

double MeasureCapacity(const Slots& slots, const Settings& settings) {
  // Drawn beforehand, so that clients share nothing but a number.
  constexpr size_t kDrawn = 4096;
  std::mt19937_64 random(settings.seed);
  std::vector<Request> requests;
  for (size_t i = 0; i < kDrawn; ++i) requests.push_back(Draw(slots, i, kDrawn, random));
  std::ranges::shuffle(requests, random);

  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  const int at_once = 2 * (settings.server.threads > 0 ? settings.server.threads : processors);
  const auto warm = Clock::now() + Seconds(settings.seconds / 2);
  const auto end = warm + Seconds(settings.seconds);
  std::atomic<size_t> next{0};
  std::atomic<size_t> answered{0};
  Pending clients(static_cast<size_t>(at_once));
  std::function<void()> send = [&] {
    const Request& request = requests[next.fetch_add(1) % kDrawn];
    const Slot& slot = *slots[request.model];
    slot.model()->Call(
        slot.kinds[request.kind], [] {},
        [&] {
          const auto now = Clock::now();
          if (now >= warm && now < end) answered.fetch_add(1);
          now < end ? send() : clients.Done();
        });
  };
  for (int i = 0; i < at_once; ++i) send();
  clients.Wait();
  return static_cast<double>(answered) / settings.seconds;
}

struct Answer {
  Clock::time_point began;
  double thread_seconds = 0;  // of the thread, until then
  float latency_us = 0;
  float service_us = 0;
  float processor_us = 0;
};

class OpenLoop {
 public:
  OpenLoop(Server& server, Slots& slots, const Settings& settings)
      : server_(server), slots_(slots), settings_(settings), pending_(settings.requests) {
    std::mt19937_64 random(settings.seed);
    std::exponential_distribution<double> gap(settings.clients > 0 ? 1 : settings.rate);
    double due = 0;
    for (size_t i = 0; i < settings.requests; ++i) {
      requests_.push_back(Draw(slots, i, settings.requests, random));
      requests_.back().due = due += gap(random);
    }
    answers_.resize(requests_.size());
  }

  nlohmann::json Run() {
    const uint64_t faults_before = hearth::benchmarks::MajorFaults();
    const double processor_before = SecondsOf(CLOCK_PROCESS_CPUTIME_ID);
    const Server::Compiled before = server_.compiled();
    start_ = Clock::now() + Seconds(0.01);
    std::vector<std::thread> senders;
    if (settings_.clients > 0) {
      for (int i = 0; i < settings_.clients; ++i) SendNext();
    } else {
      const int count = settings_.senders > 0 ? settings_.senders : 1;
      for (int i = 0; i < count; ++i) senders.emplace_back([this, i, count] { Send(i, count); });
    }
    std::thread swapper([this] { SwapAll(); });
    std::thread watcher([this] { Watch(); });
    for (std::thread& sender : senders) sender.join();
    pending_.Wait();
    const double took = Since(start_);
    const Server::Compiled after = server_.compiled();
    ended_ = true;
    swapper.join();
    watcher.join();

    nlohmann::json line;
    line["way"] = settings_.way;
    line["requests"] = requests_.size();
    line["rate"] = settings_.rate;
    line["seconds"] = took;
    line["processors"] = (SecondsOf(CLOCK_PROCESS_CPUTIME_ID) - processor_before) / took;
    line["plans"] = after.plans - before.plans;
    line["failed"] = after.failed;
    for (const auto& slot : slots_) bailouts_ += slot->model()->bailouts();
    line["bailouts"] = bailouts_;
    line["compiler_processors"] = (after.processor_seconds - before.processor_seconds) / took;
    line["latest_sending_us"] = latest_us_.load();
    line["major_faults"] = hearth::benchmarks::MajorFaults() - faults_before;
    line["swaps"] = swaps_;
    line["plans_by_time"] = plans_by_time_;
    for (const auto& slot : slots_) line["models"].push_back(slot->name);
    return line;
  }

  void Write(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    for (size_t i = 0; i < requests_.size(); ++i) {
      const float numbers[] = {static_cast<float>(requests_[i].due), answers_[i].latency_us, answers_[i].service_us,
                               answers_[i].processor_us};
      file.write(reinterpret_cast<const char*>(numbers), sizeof(numbers));
      const uint16_t names[] = {requests_[i].model, requests_[i].kind};
      file.write(reinterpret_cast<const char*>(names), sizeof(names));
    }
    if (!file.flush()) Fail("cannot write " + path);
  }

 private:
  // Every `count`-th request, beginning with `first`.
  void Send(size_t first, size_t count) {
    prctl(PR_SET_TIMERSLACK, 1);
    for (size_t i = first; i < requests_.size(); i += count) {
      const Request& request = requests_[i];
      const auto due = start_ + Seconds(request.due);
      std::this_thread::sleep_until(due);
      NoteSent(due);
      Ask(i, due, [this] { pending_.Done(); });
    }
  }

  // A client's next request, due now, and then the one after it.
  void SendNext() {
    const size_t i = next_.fetch_add(1);
    if (i >= requests_.size()) return;
    const auto due = Clock::now();
    requests_[i].due = std::chrono::duration<double>(due - start_).count();
    Ask(i, due, [this] {
      // The last one may be gone with all this once it is counted.
      SendNext();
      pending_.Done();
    });
  }

  void Ask(size_t i, Clock::time_point due, std::function<void()> ended) {
    const Request& request = requests_[i];
    Slot& slot = *slots_[request.model];
    std::shared_ptr<ServedModel> model = slot.model();
    auto* const called = model.get();
    called->Call(
        slot.kinds[request.kind],
        [this, i] {
          answers_[i].began = Clock::now();
          answers_[i].thread_seconds = SecondsOf(CLOCK_THREAD_CPUTIME_ID);
        },
        [this, i, due, ended = std::move(ended), model = std::move(model)] {
          const auto now = Clock::now();
          answers_[i].latency_us = std::chrono::duration<float, std::micro>(now - due).count();
          answers_[i].service_us = std::chrono::duration<float, std::micro>(now - answers_[i].began).count();
          const double thread_seconds = SecondsOf(CLOCK_THREAD_CPUTIME_ID) - answers_[i].thread_seconds;
          answers_[i].processor_us = static_cast<float>(1e6 * thread_seconds);
          ended();
        });
  }

  // How far behind its own times the load came to be.
  void NoteSent(Clock::time_point due) {
    const auto late = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - due).count();
    for (int64_t latest = latest_us_; late > latest && !latest_us_.compare_exchange_weak(latest, late);) continue;
  }

  void SwapAll() {
    if (settings_.swapped.empty()) return;
    const double middle = requests_[requests_.size() / 2].due;
    std::this_thread::sleep_until(start_ + Seconds(middle));
    std::vector<std::jthread> threads;
    for (const auto& slot : slots_) {
      if (std::ranges::count(settings_.swapped, slot->name) == 0) continue;
      threads.emplace_back([this, slot = slot.get()] { Swap(*slot); });
    }
  }

  // As the repository does it: the new version is loaded beside the old one and made warm for what that is called with,
  // so far as that is done in time; the old one goes when its last request has.
  void Swap(Slot& slot) {
    const double began = Since(start_);
    std::shared_ptr<ServedModel> old = slot.model();
    const std::shared_ptr<ServedModel> model = server_.Load(slot.archive, old.get());
    model->WaitUntilWarm(kWarmupTime);
    slot.Exchange(model);
    const double ended = Since(start_);
    while (old.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard lock(swaps_mutex_);
    swaps_.push_back({slot.name, began, ended});
    bailouts_ += old->bailouts();
  }

  void Watch() {
    while (!ended_) {
      plans_by_time_.push_back({Since(start_), static_cast<double>(server_.compiled().plans)});
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  Server& server_;
  Slots& slots_;
  const Settings& settings_;
  std::vector<Request> requests_;
  std::vector<Answer> answers_;
  Clock::time_point start_;
  Pending pending_;
  std::atomic<size_t> next_{0};
  std::atomic<int64_t> latest_us_{0};
  std::atomic<bool> ended_{false};
  uint64_t bailouts_ = 0;
  std::mutex swaps_mutex_;
  std::vector<std::tuple<std::string, double, double>> swaps_;
  std::vector<std::pair<double, double>> plans_by_time_;
};

int Measure(const Settings& settings) {
  const bool capacity = settings.way == "capacity";
  if (!capacity && settings.rate <= 0 && settings.clients == 0) Fail("--rate or --clients is required");
  const auto kind = capacity || settings.way == "off" ? Server::Kind::kBaseline
                    : settings.way == "on"            ? Server::Kind::kCompiler
                                                      : Server::Kind::kTorchJit;
  const auto server = Server::Make(kind, settings.server);
  Slots slots = LoadAll(*server, settings);
  hearth::benchmarks::ReadInCode();
  if (capacity) {
    const double rate = MeasureCapacity(slots, settings);
    std::printf("{\"capacity\": %.1f}\n", rate);
  } else {
    OpenLoop load(*server, slots, settings);
    std::printf("%s\n", load.Run().dump().c_str());
    if (!settings.output.empty()) load.Write(settings.output);
  }
  slots.clear();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("What requests to models that were just loaded wait for.");
  app.add_option("way", settings.way)->required()->check(CLI::IsMember({"capacity", "off", "on", "torch.jit"}));
  app.add_option("folder", settings.folder)->required();
  app.add_option("--requests", settings.requests)->check(CLI::Range(size_t{4}, size_t{100000000}));
  app.add_option("--rate", settings.rate, "Requests a second");
  app.add_option("--seed", settings.seed);
  app.add_option("--threads", settings.server.threads, "Threads that run models; 0: one a processor");
  app.add_option("--senders", settings.senders, "Threads that send requests");
  app.add_option("--clients", settings.clients, "Clients that send one request at a time, in place of --rate");
  app.add_flag("--warm", settings.warm, "Models are called with every kind before the requests");
  app.add_option("--device", settings.server.device);
  app.add_option("--compiler-share", settings.server.compiler_share, "Of one processor, that compiling may take");
  app.add_option("--exact-after", settings.server.exact_after, "Calls of a shape, after which it has a plan; 0: never");
  app.add_option("--swap", settings.swapped, "Models that are loaded anew in the middle");
  app.add_option("--seconds", settings.seconds, "How long capacity is measured");
  app.add_option("--output", settings.output);
  CLI11_PARSE(app, argc, argv);
  try {
    return Measure(settings);
  } catch (const std::exception& error) {
    Fail(error.what());
  }
}
