# SPDX-License-Identifier: BSD-3-Clause
"""The sFlow datagrams of a capture as tshark (4.0) reads them, under the keys of `rocescope decode`.

tshark's PDML keeps the order and the nesting of samples and records. Nothing here is derived from
rocescope's code.

tshark does not skip the content of a counter record whose format it does not know, and misreads the rest of the
sample. Open vSwitch sends such records before the interface counters. `read` therefore lets tshark read a copy of the
capture in which they are the last records of their samples, and leaves out what follows the first of them.

tshark shows the BTH and what follows it not within the sampled header but as further layers of the frame.
"""

import decimal
import pathlib
import struct
import subprocess
import tempfile
import xml.etree.ElementTree

import capture_file
import tshark

# Formats of counter records that tshark knows. Open vSwitch also sends 1004 (OpenFlow port), 1005 (name of the
# port), 2203 and 2207 (counters and resources of its own).
KNOWN_FORMATS = (1, 2, 3, 4, 5, 1001)
COUNTERS_SAMPLE = 2
ROCE_PORT = 4791
BYTES = ("infiniband.immdt", "infiniband.ieth")  # PDML has colons between them
DATAGRAM = 14 + 20 + 8  # offset in a frame of Open vSwitch: Ethernet, IPv4 and UDP headers
HEADER_SIZE = 28        # of a datagram whose agent has an IPv4 address

SAMPLE_KINDS = {1: "flow", 2: "counters", 3: "flow", 4: "counters"}
INTERNAL_MASK = 0x3fffffff  # the value of an interface in a compact sample; the upper two bits are its format
# The sampled header: our key, tshark's field.
HEADER = {"protocol": "sflow_245.header_protocol", "frame_length": "sflow_245.header.frame_length",
          "stripped": "sflow_245.header.payload_stripped",
          "header_length": "sflow_245.header.sampled_header_length"}
SWITCH = {"source_vlan": "sflow_245.vlan.in", "source_priority": "sflow_245.pri.in",
          "destination_vlan": "sflow_245.vlan.out", "destination_priority": "sflow_245.pri.out"}
# Counters in the order of the sFlow structures. `status` has two fields in tshark.
INTERFACE = {"index": "ifindex", "type": "iftype", "speed": "ifspeed", "direction": "ifdirection",
             "in_octets": "ifinoct", "in_unicast": "ifinpkt", "in_multicast": "ifinmcast",
             "in_broadcast": "ifinbcast", "in_discards": "ifindisc", "in_errors": "ifinerr",
             "in_unknown": "ifinunk", "out_octets": "ifoutoct", "out_unicast": "ifoutpkt",
             "out_multicast": "ifoutmcast", "out_broadcast": "ifoutbcast", "out_discards": "ifoutdisc",
             "out_errors": "ifouterr", "promiscuous": "ifpromisc"}
ETHERNET = {"alignment_errors": "AlignmentErrors", "fcs_errors": "FCSErrors",
            "single_collisions": "SingleCollisionFrames", "multiple_collisions": "MultipleCollisionFrames",
            "sqe_test_errors": "SQETestErrors", "deferred_transmissions": "DeferredTransmissions",
            "late_collisions": "LateCollisions", "excessive_collisions": "ExcessiveCollisions",
            "internal_transmit_errors": "InternalMacTransmitErrors",
            "carrier_sense_errors": "CarrierSenseErrors", "too_long_frames": "FrameTooLongs",
            "internal_receive_errors": "InternalMacReceiveErrors", "symbol_errors": "SymbolErrors"}


def unknown_last(records, is_unknown):
    """Records that tshark knows, and then the others, in order."""
    return [one for one in records if not is_unknown(one)] + [one for one in records if is_unknown(one)]


def comparable(records):
    """The first records of `unknown_last` that tshark reads correctly."""
    ordered = unknown_last(records, lambda one: one["format"] not in KNOWN_FORMATS)
    first = next((at for at, one in enumerate(ordered) if one["format"] not in KNOWN_FORMATS), len(ordered))
    return ordered[:first + 1]


def reordered(frame):
    """A frame whose counter samples have the records that tshark does not know at their ends. The length and the
    UDP checksum stay the same."""
    data = bytearray(frame)
    at = DATAGRAM + HEADER_SIZE
    for _ in range(struct.unpack_from(">I", data, at - 4)[0]):
        tag, length = struct.unpack_from(">II", data, at)
        at += 8
        if tag == COUNTERS_SAMPLE:
            start, end = at + 12, at + length
            records = []
            while start < end:
                size = 8 + struct.unpack_from(">I", data, start + 4)[0]
                records.append(bytes(data[start:start + size]))
                start += size
            data[at + 12:end] = b"".join(unknown_last(
                records, lambda one: struct.unpack_from(">I", one)[0] not in KNOWN_FORMATS))
        at += length
    return bytes(data)


def read(path):
    """The frames of a capture, as `decode` prints them, in order."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder, "sflow.pcap")
        link, frames = capture_file.read(path)
        capture_file.write(copy, link, [(time, reordered(frame)) for time, frame in frames])
        return list(read_copy(copy))


def read_copy(path):
    command = ["tshark", "-nr", str(path), "-T", "pdml"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        for _, element in xml.etree.ElementTree.iterparse(process.stdout):
            if element.tag == "packet":
                yield frame_of(element)
                element.clear()
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)


def frame_of(packet):
    layers = {layer.get("name"): layer for layer in packet}
    row = row_of([layer for layer in packet if layer.get("name") in ("frame", "eth", "ip", "udp")])
    seconds = decimal.Decimal(row.text("frame.time_epoch"))
    frame = {"frame": row.last("frame.number"), "ts_ns": int(seconds * 10**9), "caplen": row.last("frame.cap_len")}
    row.protocols = ["eth", "ip", "udp", "infiniband"]  # `add_network` describes what is in front of the last one
    tshark.add_network(row, frame)
    if "sflow" in layers:
        transports = [layer for layer in packet if layer.get("name") == "infiniband"]
        frame["sflow"] = datagram(layers["sflow"], transports)
        if transports:
            raise ValueError(f"frame {frame['frame']}: {len(transports)} RoCE packets belong to no sampled header")
    return frame


def row_of(elements):
    """The fields of all elements within these, as `tshark.describe` expects them."""
    fields = {name: [] for name in tshark.FIELDS}
    protocols = []
    for element in elements:
        for each in element.iter():
            name = each.get("name")
            if each.tag == "proto":
                protocols.append(name)
            elif name in fields:
                fields[name].append(each.get("show").replace(":", "") if name in BYTES else each.get("show"))
    fields["frame.protocols"] = [":".join(protocols)]
    return tshark.Row(fields)


class Node:
    """An element, with its direct fields by name."""

    def __init__(self, element):
        self.element = element
        self.fields = {child.get("name"): child for child in element}

    def has(self, name):
        return name in self.fields

    def number(self, *names):
        """Of the first of these fields that the element has."""
        return tshark.number(next(self.fields[name] for name in names if name in self.fields).get("show"))

    def text(self, name):
        return self.fields[name].get("show")

    def blocks(self):
        """The samples or records within: tshark gives them no name of their own."""
        return [Node(child) for child in self.element if child.get("name") == "" and len(child)]


def datagram(element, transports):
    """`transports`: the layers of the sampled RoCE packets, in order. They are removed from the list."""
    node = Node(element)
    samples = [sample_of(block, transports) for block in node.blocks()]
    return {"agent": node.text("sflow_245.agent"), "sub_agent": node.number("sflow_245.sub_agent_id"),
            "sequence": node.number("sflow_245.sequence_number"), "uptime_ms": node.number("sflow_245.sysuptime"),
            "sample_count": node.number("sflow_245.numsamples"), "samples": samples}


def sample_of(node, transports):
    kind = node.number("sflow_245.sampletype")
    sample = {"enterprise": node.number("sflow.enterprise"), "format": kind,
              "length": node.number("sflow_5.sample_length")}
    if SAMPLE_KINDS.get(kind) == "flow":
        sample |= flow_sample(node, transports)
    elif SAMPLE_KINDS.get(kind) == "counters":
        name = "sflow.counters_sample."
        sample |= {"kind": "counters", "sequence": node.number(name + "sequence_number"),
                   "source_class": node.number(name + "source_id_type", name + "source_id_class"),
                   "source_index": node.number(name + "source_id_index", name + "index"),
                   "record_count": node.number(name + "counters_records"),
                   "records": counter_records(node.blocks())}
    return sample


def flow_sample(node, transports):
    name = "sflow.flow_sample."
    sample = {"kind": "flow", "sequence": node.number(name + "sequence_number"),
              "source_class": node.number(name + "source_id_class", name + "source_id_type"),
              "source_index": node.number(name + "index", name + "source_id_index"),
              "rate": node.number(name + "sampling_rate"), "pool": node.number(name + "sample_pool"),
              "drops": node.number(name + "dropped_packets"), "record_count": node.number(name + "flow_record"),
              "records": [flow_record(record, transports) for record in node.blocks()]}
    for side in ("input", "output"):
        sample[side + "_format"], sample[side] = interface(node, f"{name}{side}_interface")
    return sample


def interface(node, name):
    """Format and value of an interface, which an expanded sample has in separate fields."""
    if node.has(name + "_value"):
        return node.number(name + "_format", name + ".format"), node.number(name + "_value")
    word = node.number(name)
    return word >> 30, word & INTERNAL_MASK


def record_tag(node, form):
    return {"enterprise": node.number("sflow.enterprise"), "format": node.number(form),
            "length": node.number("sflow_5.flow_data_length")}


def flow_record(node, transports):
    record = record_tag(node, "sflow_245.flow_record_format")
    if (record["enterprise"], record["format"]) == (0, 1):
        record |= {"kind": "sampled_header"} | {key: node.number(field) for key, field in HEADER.items()}
        header = node.fields["sflow_245.header"]
        inner = row_of([header])
        if inner.has("udp.dstport") and inner.last("udp.dstport") == ROCE_PORT and transports:
            record["packet"] = packet_of(row_of([header, transports.pop(0)]))
    elif (record["enterprise"], record["format"]) == (0, 1001):
        record |= {"kind": "switch"} | {key: node.number(field) for key, field in SWITCH.items()}
    return record


def packet_of(row):
    packet = {}
    tshark.add_transport(row, packet, tshark.add_network(row, packet))
    return packet


def counter_records(nodes):
    """Up to the first record that tshark does not know."""
    found = []
    for node in nodes:
        found.append(counter_record(node))
        if found[-1]["format"] not in KNOWN_FORMATS:
            break
    return found


def counter_record(node):
    record = record_tag(node, "sflow_245.counters_record_format")
    if (record["enterprise"], record["format"]) == (0, 1):
        record |= {"kind": "interface"} | {key: node.number("sflow_245." + name) for key, name in INTERFACE.items()}
        record["status"] = (node.number("sflow_245.ifadmin_status")
                            | node.number("sflow_245.ifoper_status") << 1)
    elif (record["enterprise"], record["format"]) == (0, 2):
        record |= {"kind": "ethernet"} | {key: node.number("sflow_245.dot3Stats" + name)
                                          for key, name in ETHERNET.items()}
    return record
