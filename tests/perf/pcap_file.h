// SPDX-License-Identifier: BSD-3-Clause
// Writes a nanosecond pcap file of any length incrementally.
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

  // Call it once at the end: reports write errors.
  Status Close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void WriteOut();

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::vector<uint8_t> bytes_;  // not written yet
};

}  // namespace rocescope::perf
