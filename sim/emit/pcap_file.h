// SPDX-License-Identifier: BSD-3-Clause
// Writes a capture with nanosecond timestamps through its own buffer, into which frames are written
// directly: a pcap file (draft-ietf-opsawg-pcap-04) or a pcapng stream
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
  static constexpr uint32_t kSnapLength = 262'144;  // snapshot length in the file header

  // Creates or truncates the file. The error names the path.
  static Result<std::unique_ptr<PcapFile>> Open(const std::string& path);

  // Writes pcapng with one interface.
  static std::unique_ptr<PcapFile> ToStandardOutput();

  std::span<uint8_t> Room() override;
  void Add(Timestamp arrival, size_t captured, uint32_t original) override;

  // Writes the rest of the buffer, which is lost otherwise. Returns the first error of all writes.
  Status Close();

  uint64_t frames() const { return frames_; }

 private:
  enum class Format : uint8_t { kPcap, kPcapng };

  PcapFile(CheckedFile file, Format format);
  void BeginPcap();
  void BeginPcapng();
  void Flush();

  CheckedFile file_;
  const Format format_;
  const size_t header_;  // bytes before each frame
  std::vector<uint8_t> buffer_;
  size_t used_ = 0;
  uint64_t frames_ = 0;
};

}  // namespace rocescope::sim
