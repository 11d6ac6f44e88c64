// SPDX-License-Identifier: BSD-3-Clause
// Writes a capture file with nanoseconds (draft-ietf-opsawg-pcap-04), through a buffer of its own
// into which frames are written straight away.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/emit/frame_sink.h"

namespace rocescope::sim {

class PcapFile final : public FrameSink {
 public:
  static constexpr uint32_t kSnapLength = 262'144;  // that the file's header names

  // Makes the file, or empties it. The error names the path.
  static Result<std::unique_ptr<PcapFile>> Open(const std::string& path);
  ~PcapFile() override;  // what is still in the buffer is written, and an error lost: call Close
  PcapFile(const PcapFile&) = delete;
  PcapFile& operator=(const PcapFile&) = delete;

  std::span<uint8_t> Room() override;
  void Add(Timestamp arrival, size_t captured, uint32_t original) override;

  // Writes the rest. The first error of all writing, say of a full disk: what came behind it is
  // not in the file.
  Status Close();

  uint64_t frames() const { return frames_; }

 private:
  PcapFile(std::string path, int descriptor);
  void Flush();

  std::string path_;
  int descriptor_;
  std::vector<uint8_t> buffer_;
  size_t used_ = 0;
  uint64_t written_ = 0;  // octets in the file
  uint64_t frames_ = 0;
  Status status_;
};

}  // namespace rocescope::sim
