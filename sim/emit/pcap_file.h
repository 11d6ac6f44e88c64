// SPDX-License-Identifier: BSD-3-Clause
// Writes a capture with nanoseconds, through a buffer of its own into which frames are written
// straight away: a file of pcap (draft-ietf-opsawg-pcap-04), or a stream of pcapng
// (draft-ietf-opsawg-pcapng-02).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/emit/frame_sink.h"
#include "sim/emit/output_file.h"

namespace rocescope::sim {

class PcapFile final : public FrameSink {
 public:
  static constexpr uint32_t kSnapLength = 262'144;  // that the file's header names

  // Makes the file, or empties it. The error names the path.
  static Result<std::unique_ptr<PcapFile>> Open(const std::string& path);

  // Pcapng, with one interface.
  static std::unique_ptr<PcapFile> ToStandardOutput();

  std::span<uint8_t> Room() override;
  void Add(Timestamp arrival, size_t captured, uint32_t original) override;

  // Writes what is still in the buffer; without, that is lost. The first error of all writing.
  Status Close();

  uint64_t frames() const { return frames_; }

 private:
  enum class Format : uint8_t { kPcap, kPcapng };

  PcapFile(OutputFile file, Format format);
  void BeginPcap();
  void BeginPcapng();
  void Flush();

  OutputFile file_;
  const Format format_;
  const size_t header_;  // octets in front of a frame
  std::vector<uint8_t> buffer_;
  size_t used_ = 0;
  uint64_t frames_ = 0;
};

}  // namespace rocescope::sim
