// SPDX-License-Identifier: BSD-3-Clause
// INT reports and sFlow as datagrams: decoded to records in memory, sent to a UDP port at the
// maximum or a given rate, or received by our loop. Prints one JSON object for appliance.py.
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "dataplane/live/udp_loop.h"
#include "dataplane/pipeline/frame_processor.h"
#include "dataplane/wire/int_report.h"
#include "dataplane/wire/sflow_flow_record.h"
#include "dataplane/wire/sflow_writer.h"
#include "tests/perf/frame.h"
#include "tests/perf/workload.h"

namespace rocescope::perf {
namespace {

constexpr size_t kRoom = 1472;  // the maximum UDP payload with an MTU of 1,500 bytes
constexpr size_t kLeast = 256;
constexpr uint32_t kSources = 64;
constexpr size_t kBurst = 64;

struct Options {
  std::string mode = "memory";
  std::string kind = "int";
  uint32_t datagrams = 20'000;  // per lap
  size_t bytes = kRoom;         // maximum size of a datagram
  uint32_t rounds = 7;
  uint16_t port = 0;
  double seconds = 5;
  double rate = 0;       // datagrams/s; 0: maximum
  bool garbled = false;  // random bytes after an invalid header
};

double CpuSeconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Datagrams as exporters fill them. Each lap continues the sequence numbers of the previous one.
class Datagrams {
 public:
  explicit Datagrams(const Options& options)
      : is_int_(options.kind == "int"),
        bytes_each_(options.bytes),
        workload_({.packets = uint64_t{options.datagrams} * 16, .queue_pairs = 20'000}),
        builder_(128, false),
        bytes_(size_t{options.datagrams} * kRoom),
        lengths_(options.datagrams),
        sequences_(kSources),
        sample_sequences_(kSources) {
    for (uint32_t i = 0; i < options.datagrams; ++i) Make(i);
    if (!options.garbled) return;
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<uint8_t>(Mix64(i));
  }

  size_t size() const { return lengths_.size(); }
  uint64_t units() const { return units_; }  // reports or samples per lap
  std::span<uint8_t> operator[](size_t i) { return {&bytes_[i * kRoom], lengths_[i]}; }

  // Sequence numbers.
  void Advance() {
    units_ = 0;
    for (uint32_t i = 0; i < lengths_.size(); ++i) Make(i);
  }

 private:
  void Make(uint32_t i) {
    const std::span<uint8_t> room(&bytes_[i * kRoom], bytes_each_);
    lengths_[i] = is_int_ ? MakeReports(i % kSources, room) : MakeSamples(i % kSources, room);
  }

  // Postcards: ports, latency, queue, times, and the start of the packet.
  size_t MakeReports(uint32_t source, std::span<uint8_t> room) {
    constexpr uint16_t kMetadata = wire::kIntPorts | wire::kIntHopLatency | wire::kIntQueue |
                                   wire::kIntIngressTimestamp | wire::kIntEgressTimestamp;
    constexpr size_t kInner = 80;  // up to the header after the BTH
    constexpr size_t kReport = 150;
    wire::ByteWriter out(room);
    Write(out, wire::IntReportGroupHeader{
                   .sequence = sequences_[source]++ & wire::IntReportGroupHeader::kSequenceMask,
                   .node_id = source});
    while (out.offset() + kReport < room.size()) {
      const Packet packet = workload_.Next();
      const Frame frame = builder_.Build(packet);
      const auto time = static_cast<uint64_t>(packet.time_ns);
      wire::WriteIntReport(out, {.header = {.type = wire::kIntReportInt,
                                            .inner_type = wire::kIntInnerEthernet,
                                            .tracked = true},
                                 .main = {.metadata_bits = kMetadata},
                                 .metadata = {.present = kMetadata,
                                              .ingress_port = 1,
                                              .egress_port = 2,
                                              .hop_latency = 800,
                                              .queue_id = 3,
                                              .queue_occupancy = 10'000,
                                              .ingress_timestamp = time,
                                              .egress_timestamp = time + 800},
                                 .inner = frame.bytes.first(std::min(kInner, frame.bytes.size()))});
      ++units_;
    }
    return out.offset();
  }

  size_t MakeSamples(uint32_t source, std::span<uint8_t> room) {
    constexpr size_t kSample = 200;
    wire::SflowWriter writer(room, {.agent = IpAddress::FromV4(0x0afe'0000 + source),
                                    .sequence = sequences_[source]++,
                                    .uptime_ms = sequences_[source]});
    while (writer.size() + kSample < room.size()) {
      const Frame frame = builder_.Build(workload_.Next());
      const uint32_t sequence = sample_sequences_[source]++;
      writer.BeginSample(wire::kSflowFlowSample,
                         wire::SflowFlowSample{.sequence = sequence,
                                               .source = {.index = 7},
                                               .sampling_rate = 4096,
                                               .sample_pool = 4096 * sequence,
                                               .input = {.value = 7},
                                               .output = {.value = 9}});
      writer.AddRecord(wire::kSflowSampledHeader,
                       wire::SflowSampledHeader{
                           .frame_length = frame.length + 4, .stripped = 4, .bytes = frame.bytes});
      ++units_;
    }
    return writer.Finish().size();
  }

  const bool is_int_;
  const size_t bytes_each_;
  Workload workload_;
  FrameBuilder builder_;
  std::vector<uint8_t> bytes_;
  std::vector<size_t> lengths_;
  std::vector<uint32_t> sequences_;
  std::vector<uint32_t> sample_sequences_;
  uint64_t units_ = 0;
};

void RunMemory(const Options& options) {
  Datagrams datagrams(options);
  FrameProcessor processor({.captures = {std::string("memory")}});
  const FrameKind kind = options.kind == "int" ? FrameKind::kIntReport : FrameKind::kSflow;
  RecordBatch records;
  std::vector<double> rates;
  uint64_t made = 0;
  uint64_t units = 0;
  int64_t now_ns = WorkloadOptions{}.start_ns;
  std::array<RawFrame, kBurst> burst;
  const std::array<IpAddress, kBurst> sources{};
  for (uint32_t round = 0; round <= options.rounds; ++round) {
    const double begin = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < datagrams.size();) {
      size_t count = 0;
      for (; count < kBurst && i < datagrams.size(); ++count, ++i) {
        const std::span<const uint8_t> bytes = datagrams[i];
        burst[count].bytes = bytes;
        burst[count].original_length = static_cast<uint32_t>(bytes.size());
        burst[count].timestamp = FromNanoseconds(now_ns += 1000);
      }
      processor.ProcessDatagrams(kind, std::span(burst).first(count),
                                 std::span(sources).first(count), records);
      made += records.hops.size() + records.samples.size();
      records.Clear();
    }
    const double used = CpuSeconds(CLOCK_THREAD_CPUTIME_ID) - begin;
    units += datagrams.units();
    // The first lap is a warm-up.
    if (round > 0) rates.push_back(static_cast<double>(datagrams.units()) / used);
    datagrams.Advance();
  }
  std::sort(rates.begin(), rates.end());
  fmt::print("{{\"rate\": {:.0f}, \"units\": {}, \"records\": {}, \"a_datagram\": {:.1f}}}\n",
             rates[rates.size() / 2], units, made,
             static_cast<double>(datagrams.units()) / static_cast<double>(datagrams.size()));
}

void RunSend(const Options& options) {
  Datagrams datagrams(options);
  const int sender = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(options.port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(sender, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
    throw std::runtime_error("cannot send to the port");
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  uint64_t sent = 0;
  double elapsed = 0;
  for (size_t next = 0; elapsed < options.seconds;) {
    std::array<mmsghdr, kBurst> messages{};
    std::array<iovec, kBurst> parts;
    for (size_t i = 0; i < kBurst; ++i) {
      const std::span<uint8_t> bytes = datagrams[next];
      next = next + 1 < datagrams.size() ? next + 1 : 0;
      parts[i] = {bytes.data(), bytes.size()};
      messages[i].msg_hdr.msg_iov = &parts[i];
      messages[i].msg_hdr.msg_iovlen = 1;
    }
    const int done = sendmmsg(sender, messages.data(), kBurst, 0);
    if (done > 0) sent += static_cast<uint64_t>(done);
    do {
      elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
      if (options.rate > 0 && static_cast<double>(sent) > elapsed * options.rate) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    } while (options.rate > 0 && static_cast<double>(sent) > elapsed * options.rate);
  }
  close(sender);
  fmt::print("{{\"sent\": {}, \"seconds\": {:.3f}}}\n", sent, elapsed);
}

std::atomic<bool> stopped = false;

void RunReceive(const Options& options) {
  const std::vector<UdpAddress> address = {
      {.address = IpAddress::FromV4(0x7f000001), .port = options.port}};
  const bool is_int = options.kind == "int";
  auto loop = UdpLoop::Open({.int_reports = is_int ? address : std::vector<UdpAddress>{},
                             .sflow = is_int ? std::vector<UdpAddress>{} : address,
                             .processor = {.captures = {std::string("socket")}}});
  if (!loop) throw std::runtime_error(loop.error().message);
  std::atomic<bool> read_all = false;
  uint64_t records = 0;
  std::thread reader([&] {
    while (!read_all) {
      while (ExchangedBatch* batch = (*loop)->worker().records().Take()) {
        records += batch->records.hops.size() + batch->records.samples.size();
        (*loop)->worker().records().GiveBack(batch);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  fmt::print(stderr, "listening\n");
  (*loop)->Run(stopped);
  read_all = true;
  reader.join();
  const SourceStatistics statistics = (*loop)->worker().Statistics();
  fmt::print(
      "{{\"received\": {}, \"decoded\": {}, \"missed\": {}, \"records\": {}, \"records_dropped\": "
      "{}, \"cpu_s\": {:.3f}}}\n",
      statistics.frames.ledger.received, statistics.frames.ledger.decoded, statistics.missed,
      records, statistics.records_dropped, CpuSeconds(CLOCK_PROCESS_CPUTIME_ID));
}

}  // namespace
}  // namespace rocescope::perf

int main(int argc, char** argv) {
  rocescope::perf::Options options;
  CLI::App app("Decodes, sends or receives INT reports and sFlow datagrams");
  app.add_option("MODE", options.mode, "memory, send or receive")
      ->required()
      ->check(CLI::IsMember({"memory", "send", "receive"}));
  app.add_option("--kind", options.kind, "int or sflow")->check(CLI::IsMember({"int", "sflow"}));
  app.add_option("--datagrams", options.datagrams, "datagrams per lap");
  app.add_option("--bytes", options.bytes, "maximum size of a datagram in bytes")
      ->check(CLI::Range(rocescope::perf::kLeast, rocescope::perf::kRoom));
  app.add_option("--rounds", options.rounds, "number of rounds; the median counts");
  app.add_option("--port", options.port, "UDP, of 127.0.0.1");
  app.add_option("--seconds", options.seconds, "to send");
  app.add_option("--rate", options.rate, "datagrams/s to send; 0: maximum");
  app.add_flag("--garbled", options.garbled, "send invalid datagrams");
  CLI11_PARSE(app, argc, argv);
  signal(SIGTERM, [](int) { rocescope::perf::stopped = true; });
  try {
    if (options.mode == "memory") rocescope::perf::RunMemory(options);
    if (options.mode == "send") rocescope::perf::RunSend(options);
    if (options.mode == "receive") rocescope::perf::RunReceive(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "telemetry_load: {}\n", error.what());
    return 1;
  }
}
