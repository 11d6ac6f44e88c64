// SPDX-License-Identifier: BSD-3-Clause
// The minimum work of a libpcap program for a capture: the reference for tests/perf/run.
#include <fmt/format.h>
#include <pcap/pcap.h>

#include <cstdint>
#include <cstdio>

namespace {

struct Totals {
  uint64_t packets = 0;
  uint64_t bytes = 0;
};

void Count(u_char* user, const pcap_pkthdr* header, const u_char* bytes) {
  auto* totals = reinterpret_cast<Totals*>(user);
  ++totals->packets;
  totals->bytes += header->len + (bytes[0] & 1);  // touches the packet, as any reader must
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: pcap_loop FILE\n");
    return 2;
  }
  char error[PCAP_ERRBUF_SIZE] = "";
  pcap_t* capture = pcap_open_offline(argv[1], error);
  if (capture == nullptr) {
    fmt::print(stderr, "pcap_loop: {}: {}\n", argv[1], error);
    return 1;
  }
  Totals totals;
  const int result = pcap_loop(capture, -1, Count, reinterpret_cast<u_char*>(&totals));
  if (result < 0) fmt::print(stderr, "pcap_loop: {}: {}\n", argv[1], pcap_geterr(capture));
  pcap_close(capture);
  fmt::print("{} {}\n", totals.packets, totals.bytes);
  return result < 0 ? 1 : 0;
}
