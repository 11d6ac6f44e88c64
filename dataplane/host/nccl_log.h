// SPDX-License-Identifier: BSD-3-Clause
// Parses NCCL logs of releases 2.3 to 2.30 into facts per process. Source: the format strings of
// NVIDIA/nccl at its release tags, in src/init.cc, src/transport/net.cc and src/transport/net_ib*.
//
// The available lines depend on NCCL_DEBUG and NCCL_DEBUG_SUBSYS; queue pairs require INFO and NET.
// A file may contain several processes and other output of the program. Logs contain no usable
// timestamps; only the order within a file is known.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/qpn.h"
#include "base/shared_list.h"

namespace rocescope {

// A local NIC port that NCCL uses: `[0]mlx5_0:1/RoCE`.
struct NcclDevice {
  int index = -1;    // IbDev in the queue pair lines
  std::string name;  // name of the RDMA device
  int port = 0;
  std::string link_layer;  // "RoCE", "IB", with "/SHARP" where the plugin adds it
  int net_device = -1;     // the merged device that it belongs to; -1: not printed
};

// "Made virtual device": one net device on one or more NIC ports.
struct NcclVirtualDevice {
  size_t line = 0;
  int net_device = -1;
  std::string name;
  int64_t speed = 0;  // Mbit/s
  int device_count = 0;
};

// The origin of a communicator created by ncclCommSplit.
struct NcclSplit {
  uint64_t parent = 0;         // ncclComm* in the same process
  std::optional<int> ordinal;  // number among the parent's splits (2.24 and later)
  int color = 0;
  int key = 0;
};

struct NcclCommunicator {
  uint64_t pointer = 0;             // ncclComm*: unique in the process during its lifetime
  std::optional<uint64_t> comm_id;  // not printed before 2.16; for splits only in 2.21 and 2.22
  std::optional<NcclSplit> split;
  int rank = -1;
  int rank_count = 0;
  int cuda_device = -1;
  int nvml_device = -1;
  uint64_t bus_id = 0;  // packed, see FormatPciAddress
  int node_count = 0;   // 0: not printed
  int local_rank_count = 0;
  int local_rank = -1;
  uint64_t thread_id = 0;    // thread that started the initialisation
  size_t begin_line = 0;     // line of Init START; 0: not printed by this release
  size_t complete_line = 0;  // line of Init COMPLETE; 0: missing
  size_t end_line = 0;       // line of Destroy or Abort COMPLETE; 0: missing
  bool aborted = false;
};

// `Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0`: setup of a network connection.
struct NcclChannel {
  size_t line = 0;
  uint64_t thread_id = 0;
  int cuda_device = -1;
  int channel = 0;
  int connection = 0;  // connIndex; 0 also if the release does not print it
  int source_rank = -1;
  int destination_rank = -1;
  bool is_send = false;
  std::string net;  // "IB", "Socket", or the name of a plugin
  int net_device = -1;
  int proxy_rank = -1;      // PXN: local rank whose process owns the connection
  bool gpu_direct = false;  // /GDRDMA
  bool shared = false;      // /Shared: several channels share one connection
};

// "New proxy send connection": the proxy of this process received a connection request.
struct NcclProxyConnection {
  size_t line = 0;
  int cuda_device = -1;
  bool is_send = false;
  int local_rank = -1;  // the requesting rank
  int transport = -1;   // 2: network
};

enum class NcclQueuePairRole : uint8_t {
  kUnknown,     // `QP created` by a function that does not indicate the role
  kSend,        // the connecting side
  kReceive,     // the accepting side
  kFlush,       // loopback READs, never on the wire
  kDeviceMain,  // GIN: GPU kernels post to it
};

struct NcclQueuePair {
  size_t line = 0;  // first line that mentions it
  uint64_t thread_id = 0;
  int cuda_device = -1;
  NcclQueuePairRole role = NcclQueuePairRole::kUnknown;
  Qpn local;
  std::optional<Qpn> remote;  // if a line states the pair
  int net_device = -1;        // number as in channel lines; -1: not printed
  bool merged = false;        // net_device consists of several ib_devices
  int ib_device = -1;         // -1: not printed
  std::string device_name;    // empty: not printed
  int port = 0;               // 0: not printed
  uint32_t mtu = 0;           // bytes; 0: not printed
  int gid_index = -1;
  std::optional<IpAddress> address;  // the local GID; unset on InfiniBand
  int lid = -1;                      // InfiniBand only
  uint32_t fifo_rkey = 0;            // rkey under which the receiver writes its clear-to-sends
  uint32_t fifo_lkey = 0;
  bool ece_inline = false;  // query_ece in this line: NCCL 2.19 to 2.26
  int own_rank = -1;        // GIN lines state the ranks of both ends
  int remote_rank = -1;
};

// `set_ece`: the sender's data about its peer, one line per queue pair of a connection. Releases
// 2.20 to 2.26 print the remote QPN; earlier and later releases print the local QPN.
struct NcclEce {
  size_t line = 0;
  uint64_t thread_id = 0;
  int ib_device = -1;
  int port = 0;
  Qpn qpn;
  bool is_remote = false;
};

enum class NcclErrorKind : uint8_t {
  kCompletion,    // "Got completion": a work request failed
  kQueuePair,     // "Got CQE with error": the queue pair of a failed work request
  kAsynchronous,  // "async fatal event"
};

struct NcclError {
  size_t line = 0;
  NcclErrorKind kind = NcclErrorKind::kCompletion;
  std::string text;           // the message, at most 512 bytes
  std::string peer;           // as printed, "10.0.0.2<43210>"
  std::string device;         // hca, or "mlx5_0:1"
  std::optional<int> status;  // enum ibv_wc_status; 12: retry count exceeded
  std::optional<uint32_t> vendor_error;
  std::optional<Qpn> local;
  std::optional<IpAddress> local_address;
  std::optional<IpAddress> remote_address;
};

struct NcclProcess {
  std::string host;  // as printed: up to the first dot
  uint64_t process_id = 0;
  std::string version;        // "2.20.5+cuda12.4"; empty: not printed
  std::string oob_interface;  // "eth0"
  std::optional<IpAddress> oob_address;
  SharedList<NcclDevice> devices;
  std::vector<NcclVirtualDevice> virtual_devices;
  std::vector<NcclCommunicator> communicators;
  std::vector<NcclChannel> channels;
  std::vector<NcclProxyConnection> proxy_connections;
  std::vector<NcclQueuePair> queue_pairs;
  std::vector<NcclEce> ece;
  std::vector<NcclError> errors;
};

// A truncated or malformed line that resembles one of the above.
struct NcclLogNote {
  size_t line = 0;  // 1-based
  std::string expected;
};

struct NcclLog {
  std::string source_name;
  std::vector<NcclProcess> processes;  // in order of their first fact
  uint64_t lines = 0;
  uint64_t messages = 0;  // lines with an NCCL prefix
  uint64_t malformed = 0;
  uint64_t over_long = 0;          // lines of which only the beginning was read
  uint64_t processes_refused = 0;  // facts dropped because of processes beyond kMaxNcclProcesses
  std::vector<NcclLogNote> notes;  // the first kMaxNcclLogNotes malformed lines
};

// Shared rather than copied, because logs can have gigabytes. The same object always represents the
// same log, read up to the same line.
using NcclLogs = std::vector<std::shared_ptr<const NcclLog>>;

inline constexpr size_t kMaxNcclLogNotes = 100;
inline constexpr size_t kMaxNcclProcesses = 65536;
inline constexpr size_t kLongestNcclLine = 8192;  // NCCL's own buffers have 1024 to 2048 bytes

// Never fails; ignores unknown text, including colour codes and NUL characters. Time and memory are
// linear in the text. A last line without a line end counts as truncated unless its form shows that
// it is complete.
NcclLog ParseNcclLog(std::string_view text, std::string_view source_name);

// Parses a growing log in pieces of whole lines, with the same result as ParseNcclLog.
class NcclLogReader {
 public:
  explicit NcclLogReader(std::string_view source_name);
  NcclLogReader(NcclLogReader&&) noexcept;
  NcclLogReader& operator=(NcclLogReader&&) noexcept;
  ~NcclLogReader();

  void Read(std::string_view text);
  // Returns what ParseNcclLog would return for all text read so far.
  NcclLog Log() const;
  // The number of processes in the text.
  size_t process_count() const;

 private:
  friend NcclLog ParseNcclLog(std::string_view text, std::string_view source_name);
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Converts the packed PCI address that NCCL prints in hex (domain << 20 | bus << 12 | device << 4 |
// function) to the Linux format: 0x80 is "0000:00:08.0".
std::string FormatPciAddress(uint64_t bus_id);

}  // namespace rocescope
