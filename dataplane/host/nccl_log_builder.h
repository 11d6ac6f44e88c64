// SPDX-License-Identifier: BSD-3-Clause
// Builds the text of NCCL logs for tests.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "dataplane/host/nccl_log.h"

namespace rocescope::test {

class LogText {
 public:
  explicit LogText(std::string host = "node0", uint64_t process_id = 100)
      : host_(std::move(host)), process_id_(process_id) {}

  LogText& On(uint64_t thread_id, int cuda_device = 0) {
    thread_id_ = thread_id;
    cuda_device_ = cuda_device;
    return *this;
  }
  LogText& Info(std::string_view message) {
    text_ += fmt::format("{}:{}:{} [{}] NCCL INFO {}\n", host_, process_id_, thread_id_,
                         cuda_device_, message);
    return *this;
  }
  LogText& Raw(std::string_view line) {
    text_ += line;
    text_ += '\n';
    return *this;
  }

  // Adds the line of NCCL 2.20 for the start of a rank's initialisation.
  LogText& Begin(int rank, int rank_count, std::string_view comm_id = "0xabc",
                 std::string_view pointer = "0x1000") {
    return Info(
        fmt::format("comm {} rank {} nranks {} cudaDev {} nvmlDev {} busId {:x} commId {} "
                    "- Init START",
                    pointer, rank, rank_count, cuda_device_, cuda_device_, BusId(), comm_id));
  }
  LogText& Complete(int rank, int rank_count, std::string_view comm_id = "0xabc",
                    std::string_view pointer = "0x1000") {
    return Info(
        fmt::format("comm {} rank {} nranks {} cudaDev {} nvmlDev {} busId {:x} commId {} "
                    "- Init COMPLETE",
                    pointer, rank, rank_count, cuda_device_, cuda_device_, BusId(), comm_id));
  }
  LogText& Send(int source, int destination, int channel = 0, std::string_view via = "0") {
    return Info(fmt::format("Channel {:02}/0 : {}[0] -> {}[0] [send] via NET/IB/{}", channel,
                            source, destination, via));
  }
  LogText& Receive(int source, int destination, int channel = 0, int device = 0) {
    return Info(fmt::format("Channel {:02}/0 : {}[0] -> {}[0] [receive] via NET/IB/{}", channel,
                            source, destination, device));
  }
  // Adds the line of NCCL 2.20 for a connecting queue pair.
  LogText& Connect(int qpn, int device = 0, int ib_device = 0) {
    return Info(
        fmt::format("NET/IB: NCCL Dev {} IbDev {} Port 1 qpn {} mtu 3 query_ece={{"
                    "supported=0, vendor_id=0x0, options=0x0, comp_mask=0x0}} GID 3 "
                    "(0/100000AFFFF0000) fifoRkey=0x10 fifoLkey=0x10",
                    device, ib_device, qpn));
  }
  LogText& SetEce(int qpn, int ib_device = 0) {
    return Info(
        fmt::format("NET/IB: IbDev {} Port 1 qpn {} set_ece={{supported=0, vendor_id=0x0, "
                    "options=0x0, comp_mask=0x0}}",
                    ib_device, qpn));
  }

  const std::string& text() const { return text_; }
  NcclLog Parse() const { return ParseNcclLog(text_, host_ + ".log"); }
  // Returns the log's only process, or an empty one if the log does not contain exactly one.
  NcclProcess Process() const {
    NcclLog log = Parse();
    return log.processes.size() == 1 ? std::move(log.processes[0]) : NcclProcess{};
  }

 private:
  // PCI address of the GPU, as NCCL packs it: 0000:1b:00.0, 0000:1c:00.0, ...
  int BusId() const { return 0x1b000 + 0x1000 * cuda_device_; }

  std::string host_;
  uint64_t process_id_;
  uint64_t thread_id_ = 100;
  int cuda_device_ = 0;
  std::string text_;
};

}  // namespace rocescope::test
