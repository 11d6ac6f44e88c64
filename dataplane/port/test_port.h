// SPDX-License-Identifier: BSD-3-Clause
// What the tests of this folder share: EAL without hugepages or rights, and captures as files.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/port/eal.h"
#include "dataplane/port/port.h"
#include "dataplane/port/receive_loop.h"
#include "dataplane/port/vdev.h"
#include "tests/support/pcap_writer.h"

namespace rocescope::test {

// EAL starts once a process: for all tests of a program, and to its end.
inline Eal& TestEal() {
  static const Result<std::unique_ptr<Eal>> eal =
      Eal::Start({"--no-huge", "--no-shconf", "-m", "256", "--no-pci", "--no-telemetry", "--lcores",
                  "0@0,1@0"});
  if (!eal) throw std::runtime_error(eal.error().message);
  return **eal;
}

// A file that is gone when the test is.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::span<const uint8_t> bytes)
      : path_(testing::TempDir() + "rocescope_port_" + std::to_string(getpid()) + "_" +
              std::to_string(next_++)) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  static inline int next_ = 0;
  std::string path_;
};

// A microsecond capture of these frames.
inline std::vector<uint8_t> PcapOf(std::span<const RawFrame> frames) {
  const CaptureFormat format = {.nanoseconds = false};
  std::vector<uint8_t> file;
  AppendPcapHeader(file, format);
  for (const RawFrame& frame : frames) {
    AppendPcapRecord(file, format, ToNanoseconds(frame.timestamp), frame.bytes,
                     frame.original_length);
  }
  return file;
}

// A port on a virtual device of its own.
class TestPort {
 public:
  TestPort(const std::string& name, const std::string& arguments, const PortOptions& options = {}) {
    TestEal();
    auto device = VirtualDevice::Plug(name, arguments);
    if (!device) throw std::runtime_error(device.error().message);
    device_ = std::move(*device);
    auto port = Port::Open(device_->port(), options);
    if (!port) throw std::runtime_error(port.error().message);
    port_ = std::move(*port);
  }

  Port& operator*() { return *port_; }
  Port* operator->() { return port_.get(); }

 private:
  std::unique_ptr<VirtualDevice> device_;  // outlives its port
  std::unique_ptr<Port> port_;
};

// All records that `loop` hands over, in order; returns when `finished` is set and none is left.
inline RecordBatch TakeAll(ReceiveLoop& loop) {
  RecordBatch all;
  while (ExchangedBatch* batch = loop.records().Take()) {
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(all.flows, batch->records.flows);
    append(all.sightings, batch->records.sightings);
    append(all.management, batch->records.management);
    loop.records().GiveBack(batch);
  }
  return all;
}

}  // namespace rocescope::test
