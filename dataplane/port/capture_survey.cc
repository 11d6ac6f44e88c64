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

// Returns the first bytes, or an error if they do not begin a plain pcap file.
Result<std::array<uint8_t, 8>> PcapHead(const std::string& path) {
  auto stream = OpenFileStream(path);
  if (!stream) return tl::unexpected(stream.error());
  PeekStream peek(std::move(*stream));
  const auto head = peek.Peek(8);
  if (!head) return tl::unexpected(head.error());
  if (!head->empty() && !LooksLikePcap(*head)) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: is not a plain pcap file, the only format that net_pcap reads: "
                    "decompress it, convert it with `editcap -F pcap IN OUT`, or "
                    "replay it without --via dpdk",
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
                     "--via dpdk reads files only; standard input is not supported");
  }
  // The file is read several times, which is impossible for pipes.
  std::error_code error;
  if (const auto status = std::filesystem::status(path, error);
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_directory(status)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: is not a regular file, but --via dpdk reads its input twice: "
                                 "store it in a file, or replay it without --via dpdk",
                                 path));
  }
  const auto head = PcapHead(path);
  if (!head) return tl::unexpected(head.error());
  const auto source = OpenCapture(path);  // also rejects an empty file
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
                       fmt::format("{}: link type {} is not Ethernet, the only one that --via dpdk "
                                   "supports: replay it without --via dpdk",
                                   path, static_cast<int>(batch[0].link_type)));
    }
    survey.frames += *count;
    for (const RawFrame& frame : std::span(batch).first(*count)) {
      survey.longest = std::max(survey.longest, static_cast<uint32_t>(frame.bytes.size()));
    }
  }
  survey.statistics = (*source)->Statistics();
  if (!damage.empty()) {  // frames before the damage count
    ++survey.statistics.damaged_tails;
    survey.statistics.notes.push_back(std::move(damage));
  }
  const bool nanoseconds = (*head)[0] == 0x4d || (*head)[3] == 0x4d;
  if (nanoseconds) {
    survey.statistics.notes.push_back(
        fmt::format("{}: net_pcap truncates timestamps to microseconds", path));
  }
  return survey;
}

}  // namespace rocescope
