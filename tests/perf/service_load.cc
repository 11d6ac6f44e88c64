// SPDX-License-Identifier: BSD-3-Clause
// Calls the appliance over gRPC at a steady rate, even if it does not keep up: paths of NIC pairs
// and hotspots, in turn. The latency of a call counts from its scheduled time. Prints one JSON
// object for appliance.py.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/address.h"
#include "rocescope/v1/service.grpc.pb.h"
#include "tests/perf/engine_load.h"

namespace rocescope::perf {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string appliance = "127.0.0.1:50051";
  uint32_t queue_pairs = 100'000;
  double rate = 2'000;  // calls/s
  double seconds = 10;
  uint32_t threads = 8;
  uint32_t stalled = 0;  // event streams
};

struct Figures {
  std::vector<double> milliseconds;
  uint64_t errors = 0;
  uint64_t paths = 0;     // in the responses
  uint64_t hotspots = 0;  // in the responses
  std::string error;      // the last error
};

void Ask(v1::Fabric::Stub& stub, const EngineLoad& load, uint64_t call, Figures& figures) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
  grpc::Status status;
  if (call % 2 == 0) {
    const FlowKey flow =
        load.FlowOf(static_cast<uint32_t>(call * 7919 % load.connections()), false);
    v1::FindPathsRequest request;
    request.set_source(ToString(flow.source));
    request.set_destination(ToString(flow.destination));
    v1::FindPathsResponse answer;
    status = stub.FindPaths(&context, request, &answer);
    figures.paths += static_cast<uint64_t>(answer.paths_size());
  } else {
    v1::ListHotspotsRequest request;
    request.set_page_size(20);
    v1::ListHotspotsResponse answer;
    status = stub.ListHotspots(&context, request, &answer);
    figures.hotspots += static_cast<uint64_t>(answer.hotspots_size());
  }
  if (status.ok()) return;
  ++figures.errors;
  figures.error = status.error_message();
}

Figures Load(const Options& options, const EngineLoad& load) {
  const auto channel = grpc::CreateChannel(options.appliance, grpc::InsecureChannelCredentials());
  const auto total = static_cast<uint64_t>(options.rate * options.seconds);
  std::atomic<uint64_t> next = 0;
  std::mutex mutex;
  Figures all;
  const Clock::time_point begin = Clock::now();
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < options.threads; ++i) {
    threads.emplace_back([&] {
      const auto stub = v1::Fabric::NewStub(channel);
      Figures mine;
      for (uint64_t call = next++; call < total; call = next++) {
        const auto due =
            begin + std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double>(static_cast<double>(call) / options.rate));
        std::this_thread::sleep_until(due);
        Ask(*stub, load, call, mine);
        mine.milliseconds.push_back(
            std::chrono::duration<double, std::milli>(Clock::now() - due).count());
      }
      const std::lock_guard lock(mutex);
      all.milliseconds.insert(all.milliseconds.end(), mine.milliseconds.begin(),
                              mine.milliseconds.end());
      all.errors += mine.errors;
      all.paths += mine.paths;
      all.hotspots += mine.hotspots;
      if (!mine.error.empty()) all.error = mine.error;
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::sort(all.milliseconds.begin(), all.milliseconds.end());
  return all;
}

// Event streams from the first event on that are never read. Each has its own connection, so that
// only its own flow control windows fill up.
class Stalled {
 public:
  Stalled(const std::string& appliance, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt("number", static_cast<int>(i));
      arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
      arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1024);
      auto stub = v1::Appliance::NewStub(
          grpc::CreateCustomChannel(appliance, grpc::InsecureChannelCredentials(), arguments));
      v1::WatchEventsRequest request;
      request.set_cursor(1);
      auto& context = contexts_.emplace_back(std::make_unique<grpc::ClientContext>());
      streams_.push_back(stub->WatchEvents(context.get(), request));
    }
  }
  ~Stalled() {
    for (const auto& context : contexts_) context->TryCancel();
    for (const auto& stream : streams_) stream->Finish();
  }
  Stalled(const Stalled&) = delete;

 private:
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::Event>>> streams_;
};

void Run(const Options& options) {
  const EngineLoad load(options.queue_pairs);
  const Stalled stalled(options.appliance, options.stalled);
  const Clock::time_point begin = Clock::now();
  const Figures figures = Load(options, load);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto& times = figures.milliseconds;
  const auto quantile = [&](double share) {
    return times.empty()
               ? 0
               : times[std::min(times.size() - 1,
                                static_cast<size_t>(share * static_cast<double>(times.size())))];
  };
  fmt::print(
      "{{\"calls\": {}, \"errors\": {}, \"error\": \"{}\", \"seconds\": {:.3f}, \"rate\": {:.1f}, "
      "\"p50_ms\": {:.3f}, \"p99_ms\": {:.3f}, \"p999_ms\": {:.3f}, \"worst_ms\": {:.3f}, "
      "\"paths\": {}, \"hotspots\": {}}}\n",
      times.size(), figures.errors, figures.error, seconds,
      static_cast<double>(times.size()) / seconds, quantile(0.5), quantile(0.99), quantile(0.999),
      quantile(1), figures.paths, figures.hotspots);
}

}  // namespace
}  // namespace rocescope::perf

int main(int argc, char** argv) {
  rocescope::perf::Options options;
  CLI::App app("Requests paths and hotspots from the appliance at a steady rate");
  app.add_option("--appliance", options.appliance, "ADDRESS:PORT of the appliance's gRPC API");
  app.add_option("--queue-pairs", options.queue_pairs, "number of queue pairs of mirror_player");
  app.add_option("--rate", options.rate, "calls/s");
  app.add_option("--seconds", options.seconds, "how long");
  app.add_option("--threads", options.threads, "maximum number of concurrent calls");
  app.add_option("--stalled", options.stalled, "additional event streams that are never read");
  CLI11_PARSE(app, argc, argv);
  rocescope::perf::Run(options);
  return 0;
}
