// SPDX-License-Identifier: BSD-3-Clause
// A test double of a host's /sys and /proc in a temporary directory.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace rocescope::test {

class MadeTree {
 public:
  MadeTree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "made_tree_XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~MadeTree() { std::filesystem::remove_all(root_); }
  MadeTree(const MadeTree&) = delete;
  MadeTree& operator=(const MadeTree&) = delete;

  std::string root() const { return root_.string(); }

  MadeTree& File(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return *this;
  }
  MadeTree& Append(const std::string& path, const std::string& text) {
    std::ofstream(root_ / path, std::ios::app | std::ios::binary) << text;
    return *this;
  }

  // Adds a RoCE device as mlx5 presents it, with its address and some counters.
  MadeTree& Device(const std::string& name, const std::string& gid) {
    const std::string device = "sys/class/infiniband/" + name;
    const std::string port = device + "/ports/1";
    const std::string pci = "sys/devices/pci0000:17/0000:17:00.0";
    File(pci + "/net/eth_" + name + "/mtu", "4200\n");
    File(device + "/fw_ver", "28.39.1002\n");
    File(device + "/board_id", "MT_0000000838\n");
    File(device + "/node_guid", "a088:c203:0012:3456\n");
    std::filesystem::create_directory_symlink(root_ / pci, root_ / (device + "/device"));
    File(port + "/link_layer", "Ethernet\n");
    File(port + "/state", "4: ACTIVE\n");
    File(port + "/rate", "400 Gb/sec (4X NDR)\n");
    File(port + "/gids/0", "fe80:0000:0000:0000:a288:c2ff:fe12:3456\n");
    File(port + "/gids/1", "fe80:0000:0000:0000:a288:c2ff:fe12:3456\n");
    File(port + "/gids/2", gid + "\n");
    File(port + "/gids/3", gid + "\n");
    File(port + "/gids/4", "0000:0000:0000:0000:0000:0000:0000:0000\n");
    for (const char* one : {"0", "2"}) File(port + "/gid_attrs/types/" + one, "IB/RoCE v1\n");
    for (const char* one : {"1", "3"}) File(port + "/gid_attrs/types/" + one, "RoCE v2\n");
    Counter(name, "counters/port_rcv_data", 1000);
    Counter(name, "counters/port_rcv_packets", 7);
    Counter(name, "hw_counters/np_cnp_sent", 3);
    Counter(name, "hw_counters/out_of_sequence", 5);
    Counter(name, "hw_counters/roce_adp_retrans", 9);  // not mapped to a metric
    return *this;
  }
  MadeTree& Counter(const std::string& device, const std::string& name, uint64_t value) {
    return File("sys/class/infiniband/" + device + "/ports/1/" + name,
                std::to_string(value) + "\n");
  }

 private:
  std::filesystem::path root_;
};

}  // namespace rocescope::test
