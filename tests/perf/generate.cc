// SPDX-License-Identifier: BSD-3-Clause
// rocescope-generate: writes a synthetic RoCEv2 capture and its ground truth. The same parameters
// give the same bytes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "tests/perf/frame.h"
#include "tests/perf/pcap_file.h"
#include "tests/perf/truth.h"
#include "tests/perf/workload.h"

namespace rocescope::perf {
namespace {

struct Arguments {
  std::string path;
  uint32_t snap = 128;
  bool erspan = false;
  WorkloadOptions workload;
};

Status Generate(const Arguments& arguments) {
  Result<PcapFile> file = PcapFile::Create(arguments.path, arguments.snap);
  if (!file) return tl::unexpected(file.error());
  Workload workload(arguments.workload);
  FrameBuilder frames(arguments.snap, arguments.erspan);
  Truth truth(workload);
  for (uint64_t i = 0; i < arguments.workload.packets; ++i) {
    const Packet packet = workload.Next();
    const Frame frame = frames.Build(packet);
    file->Append(packet.time_ns, frame);
    truth.Add(packet, frame);
  }
  if (Status closed = file->Close(); !closed) return closed;
  return truth.WriteJson(arguments.path + ".truth.json", arguments.workload);
}

void Declare(CLI::App& app, Arguments& arguments) {
  WorkloadOptions& workload = arguments.workload;
  const CLI::Range ratio(0.0, 1.0);
  app.add_option("FILE", arguments.path,
                 "capture to write; the ground truth goes to FILE.truth.json")
      ->required();
  app.add_option("--packets", workload.packets)->check(CLI::Range(1u, 1'000'000'000u));
  app.add_option("--qps", workload.queue_pairs, "number of queue pairs, two per connection")
      ->check(CLI::Range(2u, 2'000'000u));
  app.add_option("--hosts", workload.hosts)->check(CLI::Range(2u, 4096u));
  app.add_option("--zipf", workload.zipf_exponent, "Zipf exponent of the connection popularity")
      ->check(CLI::Range(0.0, 4.0));
  app.add_option("--snap", arguments.snap, "snap length in bytes")->check(CLI::Range(64u, 65535u));
  app.add_option("--ce", workload.ce_ratio, "CE marks per data packet")->check(ratio);
  app.add_option("--cnp", workload.cnp_ratio, "CNPs per packet")->check(ratio);
  app.add_option("--gap", workload.gap_ratio, "runs of missing PSNs per data packet")
      ->check(CLI::Range(0.0, 0.5));
  app.add_option("--ipv6", workload.ipv6_ratio, "share of connections over IPv6")->check(ratio);
  app.add_flag("--erspan", arguments.erspan, "encapsulate the frames in ERSPAN III");
  app.add_option("--seed", workload.seed);
  app.add_option("--duration-ns", workload.duration_ns, "event time that the capture spans")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 53));
  app.option_defaults()->always_capture_default();
}

}  // namespace
}  // namespace rocescope::perf

int main(int argc, char** argv) {
  rocescope::perf::Arguments arguments;
  CLI::App app("Writes a synthetic RoCEv2 capture and its ground truth.");
  rocescope::perf::Declare(app, arguments);
  CLI11_PARSE(app, argc, argv);
  if (arguments.workload.queue_pairs % 2 != 0) {
    fmt::print(stderr,
               "rocescope-generate: --qps {}: a connection has two queue pairs, so the "
               "number must be even\n",
               arguments.workload.queue_pairs);
    return 2;
  }
  const rocescope::Status status = rocescope::perf::Generate(arguments);
  if (status) return 0;
  fmt::print(stderr, "rocescope-generate: {}\n", status.error().message);
  return 1;
}
