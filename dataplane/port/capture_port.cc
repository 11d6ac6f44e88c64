// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/capture_port.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <rte_ethdev.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/frame_gatherer.h"
#include "dataplane/port/mbuf_time.h"
#include "dataplane/port/port.h"
#include "dataplane/port/vdev.h"
#include "dataplane/source/merge.h"

namespace rocescope {
namespace {

constexpr uint16_t kBurst = 64;
constexpr uint16_t kDataRoom = 1024;
constexpr uint32_t kMbufSize = kDataRoom + 512;  // including the mbuf's and the pool's headers
constexpr int kEmptyBurstsOfAnEnd = 256;

// Mbufs held until the next batch, plus those that the pool's caches may hold.
uint32_t MbufsFor(const CaptureSurvey& survey) {
  return kBurst * (survey.longest / kDataRoom + 1) + 1023;
}

class CapturePort final : public CaptureSource {
 public:
  CapturePort(const TapFile& file, CaptureSurvey survey, const CapturePortOptions& options,
              Descriptor descriptor, std::unique_ptr<VirtualDevice> device,
              std::unique_ptr<Port> port)
      : name_(file.path),
        tap_(file.tap),
        survey_(std::move(survey)),
        options_(options),
        descriptor_(std::move(descriptor)),
        device_(std::move(device)),
        port_(std::move(port)),
        timestamps_(TimestampField::Find()) {}

  ~CapturePort() override { rte_pktmbuf_free_bulk(&mbufs_[begin_], end_ - begin_); }

  Result<size_t> ReadBatch(std::span<RawFrame> out) override {
    rte_pktmbuf_free_bulk(&mbufs_[begin_], shown_);
    begin_ += shown_;
    shown_ = 0;
    if (begin_ == end_) {
      begin_ = 0;
      end_ = Receive(static_cast<uint16_t>(std::min<size_t>(out.size(), kBurst)));
      received_ += end_;
    }
    if (begin_ == end_) return AtEnd();
    const std::span<rte_mbuf*> mbufs(&mbufs_[begin_], end_ - begin_);
    shown_ = gatherer_.Complete(mbufs, out.first(gatherer_.View(mbufs, out)));
    for (size_t i = 0; i < shown_; ++i) {
      out[i].tap = tap_;
      out[i].timestamp = TimeOf(*mbufs[i], timestamps_, port_->time(), NicClock(), Timestamp{});
    }
    return shown_;
  }

  const std::string& name() const override { return name_; }
  CaptureStatistics Statistics() const override {
    CaptureStatistics statistics = survey_.statistics;
    if (stopped_ && received_ < survey_.frames) {
      ++statistics.damaged_tails;
      statistics.notes.push_back(fmt::format("{}: interrupted by a signal after {} of {} frames",
                                             name_, received_, survey_.frames));
    }
    return statistics;
  }

 private:
  size_t Receive(uint16_t most) {
    if (options_.stopped != nullptr && options_.stopped()) stopped_ = true;
    for (int tries = 0; tries < kEmptyBurstsOfAnEnd; ++tries) {
      if (stopped_ || received_ >= survey_.frames) return 0;
      const uint16_t count = rte_eth_rx_burst(port_->id(), 0, mbufs_.data(), most);
      if (count > 0) return count;
    }
    return 0;
  }

  Result<size_t> AtEnd() const {
    if (stopped_ || received_ >= survey_.frames) return 0;
    const PortCounters counters = port_->Counters().value_or(PortCounters{});
    return MakeError(
        ErrorCode::kInternal,
        fmt::format("{}: net_pcap delivered {} of {} frames ({} without an mbuf, {} "
                    "errors); the file may have changed during the replay",
                    name_, received_, survey_.frames, counters.no_mbuf, counters.errors));
  }

  std::string name_;
  uint16_t tap_;
  CaptureSurvey survey_;
  CapturePortOptions options_;
  Descriptor descriptor_;  // the device opens the file through it
  std::unique_ptr<VirtualDevice> device_;
  std::unique_ptr<Port> port_;
  TimestampField timestamps_;
  FrameGatherer gatherer_;
  std::array<rte_mbuf*, kBurst> mbufs_{};
  size_t begin_ = 0;  // index of the first mbuf that is not yet freed
  size_t end_ = 0;
  size_t shown_ = 0;  // number of those whose frames the caller has
  uint64_t received_ = 0;
  bool stopped_ = false;
};

Result<std::unique_ptr<CaptureSource>> OpenAsPort(const TapFile& file, CaptureSurvey survey,
                                                  size_t number,
                                                  const CapturePortOptions& options) {
  Descriptor descriptor(open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.number() < 0) {
    return MakeError(ErrorCode::kNotFound,
                     fmt::format("{}: cannot open: {}", file.path, std::strerror(errno)));
  }
  // Values of device arguments cannot contain commas. This name has none, whatever the path
  // contains.
  const std::string arguments = fmt::format("rx_pcap=/proc/self/fd/{}", descriptor.number());
  auto device = VirtualDevice::Plug(fmt::format("net_pcap{}", number), arguments);
  if (!device) {
    return MakeError(device.error().code, fmt::format("{}: {}", file.path, device.error().message));
  }
  auto port = Port::Open((*device)->port(),
                         {.mbufs = MbufsFor(survey), .data_room = kDataRoom, .surveyed = true});
  if (!port) return tl::unexpected(port.error());
  if (const Status started = (*port)->Start(); !started) return tl::unexpected(started.error());
  return std::make_unique<CapturePort>(file, std::move(survey), options, std::move(descriptor),
                                       std::move(*device), std::move(*port));
}

// The EAL argument for one lcore that may run on all cores of the process.
std::string LcoreWord() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  std::string word = "0@(";
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return "0@0";
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores)) word += fmt::format("{}{}", word.ends_with('(') ? "" : ",", core);
  }
  return word + ")";
}

// Keeps EAL alive as long as its ports.
class WithEal final : public CaptureSource {
 public:
  WithEal(std::unique_ptr<Eal> eal, std::unique_ptr<CaptureSource> source)
      : eal_(std::move(eal)), source_(std::move(source)) {}

  Result<size_t> ReadBatch(std::span<RawFrame> out) override { return source_->ReadBatch(out); }
  const std::string& name() const override { return source_->name(); }
  CaptureStatistics Statistics() const override { return source_->Statistics(); }

 private:
  std::unique_ptr<Eal> eal_;
  std::unique_ptr<CaptureSource> source_;  // destroyed before EAL
};

}  // namespace

Result<std::unique_ptr<CaptureSource>> OpenCapturesAsPorts(std::span<const TapFile> files,
                                                           const CapturePortOptions& options) {
  if (files.size() > RTE_MAX_ETHPORTS) {
    return MakeError(ErrorCode::kResourceExhausted,
                     fmt::format("--via dpdk supports at most {} captures, one per port; {} given",
                                 RTE_MAX_ETHPORTS, files.size()));
  }
  std::vector<CaptureSurvey> surveys;
  uint64_t bytes = 0;
  for (const TapFile& file : files) {
    auto survey = SurveyCapture(file.path);
    if (!survey) return tl::unexpected(survey.error());
    bytes += uint64_t{MbufsFor(*survey)} * kMbufSize;
    surveys.push_back(std::move(*survey));
  }
  constexpr uint64_t kBesidePools = 32;  // MB
  auto eal = Eal::Start({"--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", "--lcores",
                         LcoreWord(), "-m", std::to_string((bytes >> 20) * 5 / 4 + kBesidePools)});
  if (!eal) return tl::unexpected(eal.error());
  std::vector<std::unique_ptr<CaptureSource>> sources;
  for (size_t i = 0; i < files.size(); ++i) {
    auto source = OpenAsPort(files[i], std::move(surveys[i]), i, options);
    if (!source) return tl::unexpected(source.error());
    sources.push_back(std::move(*source));
  }
  return std::make_unique<WithEal>(std::move(*eal), MergeCaptures(std::move(sources)));
}

}  // namespace rocescope
