// SPDX-License-Identifier: BSD-3-Clause
// Writes a pcap file of any length, with nanoseconds, as the frames come.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/perf/frame.h"

namespace rocescope::perf {

class PcapFile {
 public:
  static Result<PcapFile> Create(const std::string& path, uint32_t snap);

  void Append(int64_t time_ns, const Frame& frame);

  // Must be called once, last: reports what could not be written.
  Status Close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void WriteOut();

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::vector<uint8_t> bytes_;  // not yet written
};

}  // namespace rocescope::perf
