# SPDX-License-Identifier: BSD-3-Clause
"""The fields that tshark (4.0) reads from a capture, under the keys of `rocescope decode`.

Values stay as tshark prints them until `describe` converts them to numbers. Nothing here is derived
from rocescope's code.
"""

import decimal
import ipaddress
import json
import subprocess

FIELDS = """
frame.number frame.time_epoch frame.cap_len frame.len frame.protocols _ws.malformed
vlan.id ieee8021ad.id vxlan.vni geneve.vni
gre.proto gre.sequence_number erspan.version erspan.spanid erspan.truncated erspan.index
erspan.timestamp erspan.gra erspan.direction erspan.platid
erspan.pid1.port_index erspan.pid3.port_index erspan.pid5.port_index erspan.pid7.source_index
erspan.pid3.timestamp erspan.pid5.timestamp erspan.pid7.timestamp
macc.opcode macc.pause_time macc.cbfc.enbv
""".split() + [f"macc.cbfc.pause_time.c{p}" for p in range(8)] + """
ip.src ip.dst ip.dsfield.dscp ip.dsfield.ecn ip.ttl ip.len
ipv6.src ipv6.dst ipv6.tclass.dscp ipv6.tclass.ecn ipv6.hlim ipv6.plen
infiniband.grh.sgid infiniband.grh.dgid infiniband.grh.tclass infiniband.grh.hoplmt
infiniband.grh.paylen
udp.srcport udp.dstport udp.length
infiniband.bth.opcode infiniband.bth.tver infiniband.bth.se infiniband.bth.m infiniband.bth.padcnt
infiniband.bth.p_key infiniband.reserved infiniband.bth.destqp infiniband.bth.a infiniband.bth.psn
infiniband.rdeth infiniband.reth infiniband.reth.va infiniband.reth.r_key infiniband.reth.dmalen
infiniband.aeth.syndrome infiniband.aeth.syndrome.opcode infiniband.aeth.syndrome.error_code
infiniband.aeth.msn infiniband.deth.q_key infiniband.deth.srcqp infiniband.immdt infiniband.ieth
infiniband.atomiceth infiniband.atomiceth.swapdt infiniband.atomiceth.cmpdt
infiniband.atomicacketh.origremdt
infiniband.mad.mgmtclass infiniband.mad.transactionid infiniband.mad.attributeid
infiniband.cm.req infiniband.cm.req.localqpn infiniband.cm.req.startpsn
infiniband.cm.req.serviceid infiniband.cm.req.serviceid.prefix
infiniband.cm.req.serviceid.protocol infiniband.cm.req.serviceid.dport
infiniband.cm.req.transpsvctype infiniband.cm.req.pppmtu
infiniband.cm.rep infiniband.cm.rep.remotecommid infiniband.cm.rep.localqpn
infiniband.cm.rep.startpsn
infiniband.cm.rtu.localcommid infiniband.cm.rtu.remotecommid
infiniband.cm.rej.localcommid infiniband.cm.rej.remotecommid infiniband.cm.rej.reason
infiniband.cm.dreq.localcommid infiniband.cm.dreq.remotecommid infiniband.cm.req.remoteqpneecn
infiniband.cm.drsp.localcommid infiniband.cm.drsp.remotecommid
""".split()

RD, UD, XRC, CNP = 2, 3, 5, 0x81
ICRC_SIZE, BTH_SIZE, UDP_SIZE = 4, 12, 8
AETH_KINDS = ("ack", "rnr_nak", "reserved", "nak")
NAK_CODES = ("psn_sequence_error", "invalid_request", "remote_access_error",
             "remote_operational_error", "invalid_rd_request")


def headers_size(opcode):
    """The bytes of the extended headers after the BTH (IBTA vol. 1, table 38)."""
    operation, transport = opcode & 31, opcode >> 5
    response = 13 <= operation <= 18
    if opcode == CNP:
        return 0
    return (16 * (operation in (6, 10, 11, 12)) + 4 * (operation in (13, 15, 16, 17, 18)) +
            8 * (operation == 18) + 28 * (operation in (19, 20)) +
            4 * (operation in (3, 5, 9, 11)) + 4 * (operation in (22, 23)) +
            8 * (transport == UD) + (4 + 8 * (not response)) * (transport == RD) +
            4 * (transport == XRC and not response))


def read(path, *options):
    """The rows of a capture: {field: [text of each occurrence]}."""
    command = ["tshark", "-nr", str(path), "-T", "fields", "-E", "occurrence=a",
               "-E", "aggregator=|", *options]
    for field in FIELDS:
        command += ["-e", field]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = []
    for line in text.splitlines():
        cells = line.split("\t")
        rows.append({field: cell.split("|") if cell else [] for field, cell in zip(FIELDS, cells)})
    return rows


def malformed(path):
    """The numbers of the frames that tshark reports as malformed."""
    command = ["tshark", "-nr", str(path), "-Y", "_ws.malformed", "-T", "fields",
               "-e", "frame.number"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {int(line) for line in text.split()}


def positions(path):
    """For each frame, the offsets of its Ethernet, IP and UDP headers, outermost first."""
    command = ["tshark", "-nr", str(path), "-T", "json", "-x", "--no-duplicate-keys"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    frames = []
    for packet in json.loads(text):
        layers = packet["_source"]["layers"]
        starts = {}
        for name in ("eth", "ip", "ipv6", "udp"):
            raw = layers.get(name + "_raw", [])  # [bytes, position, ...], or a list of these
            starts[name] = [item[1] for item in (raw if raw and isinstance(raw[0], list) else [raw])
                            if item]
        frames.append(starts)
    return frames


def number(text):
    return int(text, 16 if text.startswith("0x") else 10)


def address(text):
    value = ipaddress.ip_address(text)
    mapped = getattr(value, "ipv4_mapped", None)
    return str(mapped or value)


class Row:
    """The fields of a frame; `last` is the innermost occurrence, `first` the outermost."""

    def __init__(self, fields):
        self.fields = fields
        self.protocols = fields["frame.protocols"][0].split(":")

    def has(self, field):
        return bool(self.fields[field])

    def last(self, field):
        return number(self.fields[field][-1])

    def first(self, field):
        return number(self.fields[field][0])

    def text(self, field):
        return self.fields[field][-1]

    def is_roce(self):
        return "infiniband" in self.protocols and self.has("infiniband.bth.opcode")

    def before_roce(self):
        return self.protocols[:self.protocols.index("infiniband")]


def describe(fields):
    """A frame under the keys of `rocescope decode`, flattened; None if it is neither RoCE nor pause."""
    row = Row(fields)
    seconds = decimal.Decimal(fields["frame.time_epoch"][0])
    frame = {"frame": row.last("frame.number"), "ts_ns": int(seconds * 10**9),
             "caplen": row.last("frame.cap_len")}
    if row.is_roce():
        add_tunnels(row, frame, row.before_roce())
        payload = add_network(row, frame)
        add_transport(row, frame, payload)
    elif "macc" in row.protocols:
        add_pause(row, frame)
    else:
        return None
    return frame


TUNNELS = ("gre", "vxlan", "geneve")


def link_of(protocols):
    """The layers of the original frame: after the last Ethernet header or tunnel."""
    starts = [i for i, name in enumerate(protocols) if name in ("eth", *TUNNELS)]
    return protocols[starts[-1]:] if starts else protocols


def add_tunnels(row, frame, protocols):
    tags = [name for name in link_of(protocols) if name in ("vlan", "ieee8021ad")]
    if tags:  # the outermost one, counted from the end
        frame["vlan"] = number(row.fields[tags[0] + ".id"][-tags.count(tags[0])])
    # The headers around ERSPAN carried the copy to its collector.
    if "erspan" in protocols:
        protocols = protocols[protocols.index("erspan") - 1:]
    overlays = [name for name in protocols if name in ("vxlan", "geneve")]
    if overlays:
        frame["segment"] = row.last(overlays[-1] + ".vni")
    tunnel = next((name for name in protocols if name in TUNNELS), None)
    if tunnel:
        add_mirror(row, frame, tunnel)


def add_mirror(row, frame, tunnel):
    mirror = {}
    if tunnel != "gre" or not row.has("gre.proto"):
        mirror["kind"] = tunnel
    elif row.first("gre.proto") == 0x22eb:
        mirror["kind"] = "erspan3"
    elif row.first("gre.proto") == 0x88be:
        mirror["kind"] = "erspan2" if row.has("gre.sequence_number") else "erspan1"
    else:
        mirror["kind"] = "gre"
    if tunnel == "gre" and row.has("gre.sequence_number"):
        mirror["sequence"] = row.first("gre.sequence_number")
    if mirror["kind"] in ("erspan2", "erspan3"):
        mirror["session"] = row.first("erspan.spanid")
        mirror["truncated"] = bool(row.first("erspan.truncated"))
    if mirror["kind"] == "erspan2":
        mirror["port_index"] = row.first("erspan.index")
    if mirror["kind"] == "erspan3":
        mirror["direction"] = "egress" if row.first("erspan.direction") else "ingress"
        for field in ("pid1.port_index", "pid3.port_index", "pid5.port_index", "pid7.source_index"):
            if row.has("erspan." + field):
                mirror["port_index"] = row.first("erspan." + field)
        time = mirror_time(row, frame["ts_ns"])
        if time is not None:
            mirror["ts_ns"] = time
    frame.update({"mirror." + key: value for key, value in mirror.items()})


def mirror_time(row, arrival):
    value = row.first("erspan.timestamp")
    granularity = row.first("erspan.gra")
    if granularity == 3:
        return None
    if granularity == 2:
        if row.has("erspan.pid5.timestamp"):
            return row.first("erspan.pid5.timestamp") * 10**9 + value
        unit, turn = 1, 10**9
    else:
        unit, turn = (10**5, 100)[granularity], 2**32
    for upper in ("erspan.pid3.timestamp", "erspan.pid7.timestamp"):
        if row.has(upper):
            return (row.first(upper) * 2**32 + value) * unit
    turn *= unit
    base = arrival - (arrival - value * unit) % turn  # the last wrap that is not after the arrival
    return min((base, base + turn), key=lambda t: abs(t - arrival))


def add_network(row, frame):
    """Adds the addresses and returns the bytes from the BTH to the iCRC."""
    protocols = row.before_roce()
    layers = link_of(protocols)
    link = 14 * (layers[0] == "eth") + 4 * sum(name in ("vlan", "ieee8021ad") for name in layers)
    network = next((name for name in reversed(protocols) if name in ("ip", "ipv6")), "grh")
    if protocols[-1] == "ethertype":
        network = "grh"
    if network == "ip":
        names = ("ip.src", "ip.dst", "ip.dsfield.dscp", "ip.dsfield.ecn", "ip.ttl")
        frame["wirelen"] = link + row.last("ip.len")
    elif network == "ipv6":
        names = ("ipv6.src", "ipv6.dst", "ipv6.tclass.dscp", "ipv6.tclass.ecn", "ipv6.hlim")
        frame["wirelen"] = link + 40 + row.last("ipv6.plen")
    else:
        names = ("infiniband.grh.sgid", "infiniband.grh.dgid", None, None, "infiniband.grh.hoplmt")
        frame["wirelen"] = link + 40 + row.last("infiniband.grh.paylen")
        traffic_class = row.last("infiniband.grh.tclass")
    source, destination, dscp, ecn, ttl = names
    frame["src_ip"] = address(row.text(source))
    frame["dst_ip"] = address(row.text(destination))
    frame["dscp"] = row.last(dscp) if dscp else traffic_class >> 2
    frame["ecn"] = row.last(ecn) if ecn else traffic_class & 3
    frame["ttl"] = row.last(ttl)
    if network == "grh":
        return row.last("infiniband.grh.paylen")
    frame["udp_sport"] = row.last("udp.srcport")
    return row.last("udp.length") - UDP_SIZE


def add_transport(row, frame, size):
    bth = "infiniband.bth."
    frame["opcode"] = row.last(bth + "opcode")
    for key, field in (("se", "se"), ("mig", "m"), ("ack_req", "a")):
        frame[key] = bool(row.last(bth + field))
    for key, field in (("pad", "padcnt"), ("pkey", "p_key"), ("dest_qp", "destqp"), ("psn", "psn")):
        frame[key] = row.last(bth + field)
    # tshark does not decode the congestion bits and shows their byte as reserved.
    congestion = int(row.fields["infiniband.reserved"][0], 16)
    frame["fecn"], frame["becn"] = bool(congestion & 0x80), bool(congestion & 0x40)

    # For a truncated frame tshark shows fewer headers than it has, so the opcode determines the
    # sizes.
    frame["payload_len"] = (size - BTH_SIZE - headers_size(frame["opcode"]) - frame["pad"] -
                            ICRC_SIZE)
    if row.has("infiniband.atomiceth.cmpdt"):
        frame["atomic.va"] = row.last("infiniband.reth.va")
        frame["atomic.rkey"] = row.last("infiniband.reth.r_key")
        frame["atomic.swap"] = row.last("infiniband.atomiceth.swapdt")
        frame["atomic.compare"] = row.last("infiniband.atomiceth.cmpdt")
    elif row.has("infiniband.reth.dmalen"):
        frame["reth.va"] = row.last("infiniband.reth.va")
        frame["reth.rkey"] = row.last("infiniband.reth.r_key")
        frame["reth.length"] = row.last("infiniband.reth.dmalen")
    if row.has("infiniband.aeth.msn"):
        frame["aeth.syndrome"] = row.last("infiniband.aeth.syndrome")
        frame["aeth.msn"] = row.last("infiniband.aeth.msn")
        frame["aeth.kind"] = AETH_KINDS[row.last("infiniband.aeth.syndrome.opcode")]
        if frame["aeth.kind"] == "nak":
            code = row.last("infiniband.aeth.syndrome.error_code")
            frame["aeth.code"] = NAK_CODES[code] if code < len(NAK_CODES) else "reserved"
    if row.has("infiniband.deth.srcqp"):
        frame["deth.qkey"] = row.last("infiniband.deth.q_key")
        frame["deth.source_qp"] = row.last("infiniband.deth.srcqp")
    if row.has("infiniband.immdt"):
        frame["imm"] = int(row.text("infiniband.immdt"), 16)
    if row.has("infiniband.ieth"):
        frame["ieth_rkey"] = int(row.text("infiniband.ieth"), 16)
    if row.has("infiniband.atomicacketh.origremdt"):
        frame["atomic_ack"] = row.last("infiniband.atomicacketh.origremdt")
    if row.has("infiniband.mad.mgmtclass") and row.last("infiniband.mad.mgmtclass") == 7:
        add_cm(row, frame)


# CM attribute: our key, tshark's field.
CM_FIELDS = {
    0x10: {"local_comm_id": "req", "local_qpn": "req.localqpn", "starting_psn": "req.startpsn",
           "transport_service": "req.transpsvctype", "path_mtu": "req.pppmtu"},
    0x12: {"local_comm_id": "rej.localcommid", "remote_comm_id": "rej.remotecommid",
           "reason": "rej.reason"},
    0x13: {"local_comm_id": "rep", "remote_comm_id": "rep.remotecommid",
           "local_qpn": "rep.localqpn", "starting_psn": "rep.startpsn"},
    0x14: {"local_comm_id": "rtu.localcommid", "remote_comm_id": "rtu.remotecommid"},
    0x15: {"local_comm_id": "dreq.localcommid", "remote_comm_id": "dreq.remotecommid",
           "remote_qpn": "req.remoteqpneecn"},
    0x16: {"local_comm_id": "drsp.localcommid", "remote_comm_id": "drsp.remotecommid"},
}


def add_cm(row, frame):
    attribute = row.last("infiniband.mad.attributeid")
    frame["cm.attribute"] = attribute
    frame["cm.transaction_id"] = row.last("infiniband.mad.transactionid")
    for key, field in CM_FIELDS.get(attribute, {}).items():
        if row.has("infiniband.cm." + field):
            frame["cm." + key] = row.last("infiniband.cm." + field)
    service = "infiniband.cm.req.serviceid"
    if row.has(service):
        frame["cm.service_id"] = row.last(service)
    elif row.has(service + ".prefix"):  # the IP CM service ID is shown in three parts
        frame["cm.service_id"] = (int(row.text(service + ".prefix"), 16) << 24 |
                                  row.last(service + ".protocol") << 16 |
                                  row.last(service + ".dport"))


def add_pause(row, frame):
    frame["wirelen"] = row.last("frame.len")
    frame["pause.opcode"] = row.last("macc.opcode")
    if row.has("macc.pause_time"):
        frame["pause.classes"] = []
        frame["pause.quanta"] = [row.last("macc.pause_time")]
    else:
        enabled = row.last("macc.cbfc.enbv")
        frame["pause.classes"] = [p for p in range(8) if enabled >> p & 1]
        frame["pause.quanta"] = [row.last(f"macc.cbfc.pause_time.c{p}") for p in range(8)]
