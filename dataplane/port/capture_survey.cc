// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "dataplane/port/capture_port.h"
#include "dataplane/source/byte_stream.h"
#include "dataplane/source/pcap_reader.h"

namespace rocescope {
namespace {

// The first octets; an error if they are not those of a plain pcap file.
Result<std::array<uint8_t, 8>> PcapHead(const std::string& path) {
  auto stream = OpenFileStream(path);
  if (!stream) return tl::unexpected(stream.error());
  PeekStream peek(std::move(*stream));
  const auto head = peek.Peek(8);
  if (!head) return tl::unexpected(head.error());
  if (!head->empty() && !LooksLikePcap(*head)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: is not a plain pcap file, and net_pcap takes no other: "
                                 "decompress it, or convert it with `editcap -F pcap IN OUT`; "
                                 "without --via dpdk rocescope reads it if it is a capture",
                                 path));
  }
  std::array<uint8_t, 8> bytes{};
  std::copy(head->begin(), head->end(), bytes.begin());
  return bytes;
}

}  // namespace

Result<CaptureSurvey> SurveyCapture(const std::string& path) {
  if (path == kStandardInputPath) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "--via dpdk reads files; standard input cannot be a port");
  }
  // Read more than once, which pipes cannot be.
  std::error_code error;
  if (const auto status = std::filesystem::status(path, error);
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_directory(status)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: is no regular file, and --via dpdk reads its input twice: "
                                 "store it in a file, or replay it without --via dpdk",
                                 path));
  }
  const auto head = PcapHead(path);
  if (!head) return tl::unexpected(head.error());
  const auto source = OpenCapture(path);  // also refuses an empty file
  if (!source) return tl::unexpected(source.error());
  CaptureSurvey survey;
  std::string damage;
  std::array<RawFrame, kBatchFrames> batch;
  while (true) {
    const Result<size_t> count = (*source)->ReadBatch(batch);
    if (!count) damage = count.error().message;
    if (!count || *count == 0) break;
    if (batch[0].link_type != LinkType::kEthernet) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}: its link layer is {}, and a port's is Ethernet: replay it "
                                   "without --via dpdk",
                                   path, static_cast<int>(batch[0].link_type)));
    }
    survey.frames += *count;
    for (const RawFrame& frame : std::span(batch).first(*count)) {
      survey.longest = std::max(survey.longest, static_cast<uint32_t>(frame.bytes.size()));
    }
  }
  survey.statistics = (*source)->Statistics();
  if (!damage.empty()) {  // what is before it counts
    ++survey.statistics.damaged_tails;
    survey.statistics.notes.push_back(std::move(damage));
  }
  const bool nanoseconds = (*head)[0] == 0x4d || (*head)[3] == 0x4d;
  if (nanoseconds) {
    survey.statistics.notes.push_back(
        fmt::format("{}: net_pcap keeps microseconds: what is below is cut off", path));
  }
  return survey;
}

}  // namespace rocescope
