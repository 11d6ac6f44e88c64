// SPDX-License-Identifier: BSD-3-Clause
// A cable of the lab. Each end of a cable is an interface in the namespace of the wires. This
// classifier runs when a frame arrives there from a switch or host. It sets a CE mark, corrupts or
// drops the frame according to the settings of the end, and redirects it to the other end. Sender
// and receiver have separate counters, so a frame that is dropped here was sent but not received.
//
// wires.py contains the same layouts of the maps.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <stddef.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ENDS 65536              // one for each interface index
#define FLOWS 65536
// A fault is visible from its tenth affected frame on (sim/fault/README.md).
#define VISIBLE_FRAMES 10
#define ETHERTYPE_IPV4 0x0800
#define PROTOCOL_UDP 17
#define ROCE_PORT 4791
#define ETHERNET_SIZE 14
#define ADDRESSES_OFFSET (ETHERNET_SIZE + 12)
#define UDP_OFFSET (ETHERNET_SIZE + 20)
#define BTH_OFFSET (UDP_OFFSET + 8)
#define OPCODE_ACKNOWLEDGE 0x11
#define OPCODE_CNP 0x81
#define TOS_OFFSET (ETHERNET_SIZE + 1)
#define CHECKSUM_OFFSET (ETHERNET_SIZE + 10)
#define ECN_MASK 3
#define ECN_CE 3
#define PAYLOAD_OFFSET (BTH_OFFSET + 12)
#define ICRC_SIZE 4
#define NANOSECONDS 1000000000ull

// Probabilities are fractions of 2^32.
struct settings {
  __u32 other_end;    // interface index of the other end; 0: not connected, all frames are lost
  __u32 loss;         // probability that a frame is lost
  __u32 bit_errors;   // probability that a frame is lost and the receiver counts an FCS error
  __u32 corruption;   // probability that a byte of the RoCE payload changes
  __u64 rate;         // of the virtual queue in bytes per second; 0: no CE marks
  __u32 ecn_minimum;  // bytes in the virtual queue from which on packets may be marked
  __u32 ecn_maximum;  // bytes in the virtual queue above which all packets are marked
  __u32 ecn_probability;  // just below ecn_maximum
  __u16 counts_all;       // 1: all frames count as affected by the current fault
  __u16 suppresses_marks;  // 1: packets that must be marked count as affected, and are not marked
};

struct counters {
  __u64 frames;
  __u64 bytes;
  __u64 lost;
  __u64 bit_errors;
  __u64 corrupted;
  __u64 marked;
  __u64 affected;    // by the current fault; reset when a fault starts
  __u64 visible_ns;  // monotonic time of the tenth affected frame; 0: not yet
};

// A RoCE flow in the direction of one end of a wire: the ground truth of its path.
struct flow {
  __u32 end;
  __u32 source;       // addresses and port in network byte order
  __u32 destination;
  __u32 qpn;          // destination queue pair
  __u16 source_port;
  __u16 reserved;
};

struct flow_counters {
  __u64 packets;
  __u64 data_bytes;  // of requests and READ responses, with all headers
  __u64 first_ns;    // monotonic time
  __u64 last_ns;
};

struct queue {
  __u64 time_ns;
  __u64 bytes;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, ENDS);
  __type(key, __u32);
  __type(value, struct settings);
} wire_settings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, ENDS);
  __type(key, __u32);
  __type(value, struct counters);
} wire_counters SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, ENDS);
  __type(key, __u32);
  __type(value, struct queue);
} wire_queues SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, FLOWS);
  __type(key, struct flow);
  __type(value, struct flow_counters);
} wire_flows SEC(".maps");

// The greatest length of each virtual queue in bytes. A reader resets it.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, ENDS);
  __type(key, __u32);
  __type(value, __u64);
} wire_peaks SEC(".maps");

static __always_inline int happens(__u32 probability) {
  return probability != 0 && bpf_get_prandom_u32() < probability;
}

static __always_inline void affect(struct counters* counters) {
  if (++counters->affected == VISIBLE_FRAMES) counters->visible_ns = bpf_ktime_get_ns();
}

// Adds a frame to the virtual queue and returns whether the queue marks it.
static __always_inline int must_mark(__u32 end, const struct settings* settings, __u32 length) {
  struct queue* queue = bpf_map_lookup_elem(&wire_queues, &end);
  __u64* peak = bpf_map_lookup_elem(&wire_peaks, &end);
  if (queue == NULL || peak == NULL) return 0;
  const __u64 now = bpf_ktime_get_ns();
  __u64 idle_ns = now - queue->time_ns;
  if (idle_ns > NANOSECONDS) idle_ns = NANOSECONDS;  // no overflow of the product
  const __u64 sent = idle_ns * settings->rate / NANOSECONDS;
  const __u64 bytes = (queue->bytes > sent ? queue->bytes - sent : 0) + length;
  queue->time_ns = now;
  queue->bytes = bytes;
  if (bytes > *peak) *peak = bytes;
  if (bytes > settings->ecn_maximum) return 1;
  if (bytes <= settings->ecn_minimum) return 0;
  const __u64 above = bytes - settings->ecn_minimum;
  const __u64 range = settings->ecn_maximum - settings->ecn_minimum;
  return range != 0 && happens(above * settings->ecn_probability / range);
}

static __always_inline int mark(struct __sk_buff* skb) {
  __u8 tos = 0;
  if (bpf_skb_load_bytes(skb, TOS_OFFSET, &tos, sizeof(tos)) != 0) return 0;
  if ((tos & ECN_MASK) == 0 || (tos & ECN_MASK) == ECN_CE) return 0;
  const __u8 marked = tos | ECN_CE;
  bpf_l3_csum_replace(skb, CHECKSUM_OFFSET, bpf_htons(tos), bpf_htons(marked), sizeof(__u16));
  bpf_skb_store_bytes(skb, TOS_OFFSET, &marked, sizeof(marked), 0);
  return 1;
}

// Inverts a byte of the payload, so that the iCRC is invalid. Frames without payload are unchanged.
static __always_inline int corrupt(struct __sk_buff* skb) {
  if (skb->len <= PAYLOAD_OFFSET + ICRC_SIZE) return 0;
  const __u32 payload = skb->len - PAYLOAD_OFFSET - ICRC_SIZE;
  const __u32 offset = PAYLOAD_OFFSET + bpf_get_prandom_u32() % payload;
  __u8 byte = 0;
  if (bpf_skb_load_bytes(skb, offset, &byte, sizeof(byte)) != 0) return 0;
  byte = ~byte;
  return bpf_skb_store_bytes(skb, offset, &byte, sizeof(byte), 0) == 0;
}

static __always_inline int is_roce(struct __sk_buff* skb) {
  __u8 version = 0;
  __u8 protocol = 0;
  __u16 port = 0;
  if (bpf_skb_load_bytes(skb, ETHERNET_SIZE, &version, sizeof(version)) != 0) return 0;
  if (bpf_skb_load_bytes(skb, ETHERNET_SIZE + 9, &protocol, sizeof(protocol)) != 0) return 0;
  if (bpf_skb_load_bytes(skb, ETHERNET_SIZE + 22, &port, sizeof(port)) != 0) return 0;
  return version == 0x45 && protocol == PROTOCOL_UDP && port == bpf_htons(ROCE_PORT);
}

static __always_inline void count_flow(struct __sk_buff* skb, __u32 end) {
  struct {
    __u8 opcode;
    __u8 flags[3];
    __u32 qpn;
  } bth = {};
  struct flow flow = {.end = end};
  if (bpf_skb_load_bytes(skb, ADDRESSES_OFFSET, &flow.source, 2 * sizeof(__u32)) != 0) return;
  if (bpf_skb_load_bytes(skb, UDP_OFFSET, &flow.source_port, sizeof(__u16)) != 0) return;
  if (bpf_skb_load_bytes(skb, BTH_OFFSET, &bth, sizeof(bth)) != 0) return;
  flow.qpn = bpf_ntohl(bth.qpn) & 0xffffff;
  const __u64 now = bpf_ktime_get_ns();
  struct flow_counters* counters = bpf_map_lookup_elem(&wire_flows, &flow);
  if (counters == NULL) {
    const struct flow_counters fresh = {.first_ns = now};
    bpf_map_update_elem(&wire_flows, &flow, &fresh, BPF_ANY);
    counters = bpf_map_lookup_elem(&wire_flows, &flow);
    if (counters == NULL) return;
  }
  ++counters->packets;
  if (bth.opcode != OPCODE_ACKNOWLEDGE && bth.opcode != OPCODE_CNP) counters->data_bytes += skb->len;
  counters->last_ns = now;
}

SEC("classifier")
int wire(struct __sk_buff* skb) {
  __u32 end = skb->ifindex;
  const struct settings* settings = bpf_map_lookup_elem(&wire_settings, &end);
  struct counters* counters = bpf_map_lookup_elem(&wire_counters, &end);
  if (settings == NULL || counters == NULL || settings->other_end == 0) return TC_ACT_SHOT;
  ++counters->frames;
  counters->bytes += skb->len;
  if (settings->counts_all) affect(counters);
  if (skb->protocol == bpf_htons(ETHERTYPE_IPV4)) {
    if (settings->rate != 0 && must_mark(end, settings, skb->len)) {
      if (settings->suppresses_marks) {
        affect(counters);
      } else if (mark(skb)) {
        ++counters->marked;
      }
    }
    if (is_roce(skb)) {
      count_flow(skb, end);
      if (happens(settings->corruption) && corrupt(skb)) {
        ++counters->corrupted;
        affect(counters);
      }
    }
  }
  if (happens(settings->bit_errors)) {
    ++counters->bit_errors;
    affect(counters);
    return TC_ACT_SHOT;
  }
  if (happens(settings->loss)) {
    ++counters->lost;
    affect(counters);
    return TC_ACT_SHOT;
  }
  return bpf_redirect(settings->other_end, 0);
}

char wire_license[] SEC("license") = "Dual BSD/GPL";
