// One model in several engines of one process, for models.py, which takes turns between them:
//
//   model_benchmark [--device cuda] ARCHIVE INPUTS ENGINE...
//
// INPUTS is a tuple, or a list of tuples that calls are given in turn, such as batches of many sizes.
//
// ENGINE: hearth:baseline, hearth:plan (every call waits for its plan), hearth:exact (for the very sizes of its
// arguments, as shapes have that are called often) or hearth:auto (as the daemon, warmed up); torch.jit,
// torch.jit:frozen or torch.jit:inference (frozen, then optimize_for_inference); products:64x32x10,... the bare matrix
// products of those sizes (rows, inner, columns), each as fast as this BLAS has it. Each is loaded from the archive and
// warmed up in turn, then "ready" is printed. Commands come on standard input, one a line, and each is answered by a
// line:
//
//   time ENGINE MILLISECONDS    calls it for that long, at least three times: the nanoseconds that each call took
//   answer ENGINE FILE          writes what it answers, for torch.load: "written"
//
// On a GPU the inputs are there before the first call. A call has a stream of its own from a pool, and ends when its
// answer is on the CPU and the stream is idle: the daemon's way, for torch.jit too.
//
// The threads inside of operators are what OMP_NUM_THREADS says. hearth's pool has as many threads for calls and their
// forks as torch.jit's (LibTorch's default: one for each processor); where hearth may, it runs on the calling thread,
// as its rival does.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <c10/core/StreamGuard.h>
#include <torch/script.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "jit/device/device.h"
#include "jit/device/stream.h"
#include "jit/runtime.h"
#include "jit/support/cpu_allocator.h"
#include "jit/support/operator_threads.h"

// BLAS, as Fortran calls it. LibTorch's library exports its own.
extern "C" void sgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                       const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
                       const float* beta, float* c, const int* ldc);

namespace {

using Inputs = std::vector<c10::IValue>;
using Calls = std::vector<Inputs>;
using Engine = std::function<c10::IValue(Inputs)>;
using Clock = std::chrono::steady_clock;

// What every engine is made of.
struct Subject {
  std::string archive;
  std::string device_name;
  c10::Device device;
  Calls calls;  // on the device
};

constexpr int kWarmUpCalls = 5;
constexpr size_t kLeastCalls = 3;

template <typename T>
T Unwrap(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(std::string(result.status().message()));
  return *std::move(result);
}

void WaitUntilWarm(hearth::Model& model) {
  std::mutex mutex;
  std::condition_variable changed;
  bool warm = false;
  const auto waiting = model.WhenWarm([&] {
    const std::lock_guard lock(mutex);
    warm = true;
    changed.notify_one();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return warm; });
}

void CallAll(Engine& engine, const Calls& calls) {
  for (const Inputs& inputs : calls) engine(inputs);
}

Engine MakeHearth(const Subject& subject, hearth::Tier tier) {
  hearth::RuntimeOptions options;
  options.device = subject.device_name;
  options.threads = at::get_num_interop_threads();
  options.compiler.tier = tier;
  std::shared_ptr<hearth::Runtime> runtime = Unwrap(hearth::Runtime::Create(options));
  std::shared_ptr<hearth::Model> model = Unwrap(runtime->Load(subject.archive, {}));
  Engine engine = [runtime, model](Inputs given) {
    hearth::CallOptions call;
    call.may_run_here = true;
    return Unwrap(model->Call("forward", std::move(given), {}, std::move(call)));
  };
  // What is compiled may be compiled once more, of what was seen of it.
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kWarmUpCalls; ++i) CallAll(engine, subject.calls);
    if (tier == hearth::Tier::kAuto) WaitUntilWarm(*model);
  }
  return engine;
}

Engine MakeTorch(const Subject& subject, const std::string& form) {
  torch::jit::Module module = torch::jit::load(subject.archive, subject.device);
  module.eval();
  if (form == "frozen" || form == "inference") module = torch::jit::freeze(module);
  if (form == "inference") module = torch::jit::optimize_for_inference(module);
  // Its weights were copied and folded on the default stream.
  hearth::WaitForDevice(subject.device);
  torch::jit::Method forward = module.get_method("forward");
  const auto streams = std::make_shared<hearth::StreamPool>(subject.device);
  Engine engine = [module, forward, streams](Inputs given) mutable {
    const at::NoGradGuard no_gradients;
    const auto stream = streams->Take();
    if (stream == nullptr) return forward(std::move(given));
    const c10::StreamGuard guard(*stream);
    c10::IValue answer = hearth::MoveToDevice(forward(std::move(given)), c10::kCPU);
    stream->synchronize();
    return answer;
  };
  for (int i = 0; i < kWarmUpCalls; ++i) CallAll(engine, subject.calls);
  return engine;
}

// A product of matrices by the BLAS that LibTorch brings. All elements are the same, so any layout of the weight will
// do.
struct Product {
  int rows, inner, columns;
  at::Tensor input, weight, result;
  bool transposed = false;
  bool alone = false;

  void Run() const {
    const hearth::OneBlasThread one_thread(alone);
    const float one = 1, zero = 0;
    sgemm_(transposed ? "N" : "T", "N", &columns, &rows, &inner, &one, weight.const_data_ptr<float>(),
           transposed ? &columns : &inner, input.const_data_ptr<float>(), &inner, &zero,
           result.mutable_data_ptr<float>(), &columns);
  }

  // Of some runs.
  Clock::duration FastestRun() const {
    auto fastest = Clock::duration::max();
    for (int i = 0; i < 100; ++i) {
      const auto start = Clock::now();
      Run();
      fastest = std::min(fastest, Clock::now() - start);
    }
    return fastest;
  }

  // With the weight's rows or columns together, on all threads or one.
  void TakeFastestWay() {
    Product fastest = *this;
    for (const bool its_columns : {false, true}) {
      for (const bool on_one : {false, true}) {
        Product other = *this;
        other.transposed = its_columns;
        other.alone = on_one;
        if (other.FastestRun() < fastest.FastestRun()) fastest = other;
      }
    }
    *this = fastest;
  }
};

// Gives nothing.
Engine MakeProducts(const std::string& sizes) {
  std::vector<Product> products;
  std::istringstream words(sizes);
  char mark;
  for (Product next; words >> next.rows >> mark >> next.inner >> mark >> next.columns; words >> mark) {
    next.input = at::ones({next.rows, next.inner});
    next.weight = at::ones({next.columns, next.inner});
    next.result = at::ones({next.rows, next.columns});
    products.push_back(next);
    products.back().TakeFastestWay();
  }
  return [products](const Inputs&) {
    for (const Product& product : products) product.Run();
    return c10::IValue();
  };
}

Engine MakeEngine(const std::string& name, const Subject& subject) {
  if (name == "hearth:baseline") return MakeHearth(subject, hearth::Tier::kBaseline);
  if (name == "hearth:plan") return MakeHearth(subject, hearth::Tier::kSpecialised);
  if (name == "hearth:exact") return MakeHearth(subject, hearth::Tier::kExact);
  if (name == "hearth:auto") return MakeHearth(subject, hearth::Tier::kAuto);
  if (name == "torch.jit") return MakeTorch(subject, "");
  if (name == "torch.jit:frozen") return MakeTorch(subject, "frozen");
  if (name == "torch.jit:inference") return MakeTorch(subject, "inference");
  if (name.starts_with("products:")) return MakeProducts(name.substr(name.find(':') + 1));
  throw std::runtime_error("no engine is called '" + name + "'");
}

void Time(Engine& engine, const Calls& calls, int64_t milliseconds) {
  std::vector<int64_t> times;
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  while (times.size() < kLeastCalls || Clock::now() < end) {
    Inputs given = calls[times.size() % calls.size()];
    const auto start = Clock::now();
    const c10::IValue answer = engine(std::move(given));
    times.push_back(std::chrono::nanoseconds(Clock::now() - start).count());
  }
  for (const int64_t time : times) std::printf("%lld ", static_cast<long long>(time));
  std::printf("\n");
}

// LibTorch's engines have memory as LibTorch gives it.
void ChooseMemoryFor(const std::string& engine) {
  hearth::KeepFreedMemory(engine.starts_with("hearth") ? size_t(hearth::RuntimeOptions().kept_memory) : 0);
}

void Serve(std::map<std::string, Engine>& engines, const Calls& calls) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, name;
    words >> command >> name;
    Engine& engine = engines.at(name);
    ChooseMemoryFor(name);
    if (command == "time") {
      int64_t milliseconds = 0;
      words >> milliseconds;
      Time(engine, calls, milliseconds);
    } else if (command == "answer") {
      std::string file;
      words >> file;
      const absl::Status written = hearth::WriteSavedValue(engine(calls.front()), file);
      if (!written.ok()) throw std::runtime_error(std::string(written.message()));
      std::puts("written");
    } else {
      throw std::runtime_error("no command is called '" + command + "'");
    }
    std::fflush(stdout);
  }
}

Calls ReadCalls(const std::string& file, c10::Device device) {
  const c10::IValue given = Unwrap(hearth::ReadSavedValue(file));
  Calls calls;
  for (const c10::IValue& inputs : given.isList() ? given.toListRef().vec() : Inputs{given}) {
    calls.push_back(hearth::MoveToDevice(inputs, device).toTupleRef().elements().vec());
  }
  if (calls.empty())
    throw std::runtime_error("the inputs are a tuple, or a list of at least one, and got an empty list");
  hearth::WaitForDevice(device);
  return calls;
}

}  // namespace

int main(int argc, char** argv) {
  std::string archive, inputs, device_name = "cpu";
  std::vector<std::string> names;
  CLI::App app("One model in several engines, for models.py.");
  app.add_option("--device", device_name, "cpu, cuda or cuda:N");
  app.add_option("ARCHIVE", archive)->required();
  app.add_option("INPUTS", inputs)->required();
  app.add_option("ENGINE", names)->required();
  CLI11_PARSE(app, argc, argv);
  try {
    const c10::Device device = hearth::OpenDevices(device_name).front();
    const Subject subject{archive, device_name, device, ReadCalls(inputs, device)};
    std::map<std::string, Engine> engines;
    for (const std::string& name : names) engines.emplace(name, MakeEngine(name, subject));
    std::puts("ready");
    std::fflush(stdout);
    Serve(engines, subject.calls);
  } catch (const std::exception& error) {
    std::cerr << "model_benchmark: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
