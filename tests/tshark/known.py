# SPDX-License-Identifier: BSD-3-Clause
"""Errors and omissions of tshark 4.0: the only differences that compare.py accepts.

Each case names the generated capture in which it must still occur, so that the list stays current.
"""

import collections
from collections.abc import Callable
from dataclasses import dataclass, field

RELIABLE_DATAGRAM, EXTENDED_CONNECTION = 2, 5
EXTENDED_HEADERS = ("reth.", "aeth.", "deth.", "atomic", "imm", "ieth_rkey")
# MsgRcptAck, SIDR request and reply, LoadAlternatePath, AlternatePathResponse.
UNDISSECTED_CM = (0x11, 0x17, 0x18, 0x19, 0x1a)


@dataclass
class Difference:
    """The result of both programs for one frame."""
    ours: dict
    theirs: dict
    protocols: list  # tshark's, from the link layer up
    malformed: bool  # according to tshark
    keys: set = field(default_factory=set)  # keys whose values differ

    def __str__(self):
        values = {key: (self.ours.get(key), self.theirs.get(key)) for key in sorted(self.keys)}
        text = f"frame {self.ours['frame']}: (ours, tshark's) {values}"
        return text + (f", malformed {':'.join(self.protocols)}" if self.malformed else "")

    def only_in(self, *prefixes):
        return all(key.startswith(prefixes) for key in self.keys)


@dataclass
class Case:
    name: str
    reason: str
    capture: str  # the generated capture that shows it
    covers: Callable[[Difference], bool]


def was_cut(difference):
    frame = difference.ours
    return frame.get("mirror.truncated") or frame["caplen"] < frame["wirelen"]


CASES = [
    Case("snapped_frame_called_malformed",
         "The switch truncated the frame before encapsulation, so the inner lengths exceed the "
         "captured length. tshark reports a malformed packet. The fields agree.",
         "truncated",
         lambda d: d.malformed and not d.keys and was_cut(d)),
    Case("cut_header_not_shown",
         "tshark does not show an extended header whose end was not captured. compare.py compares "
         "these fields with the complete frame instead.",
         "snapped",
         lambda d: was_cut(d) and d.only_in(*EXTENDED_HEADERS) and
         all(key not in d.theirs for key in d.keys)),
    Case("send_taken_for_rpc_over_rdma",
         "tshark assumes that the payload of a SEND is RPC-over-RDMA and reads its header past the "
         "end of a shorter payload. The packet is not malformed, and the fields agree.",
         "short_sends",
         lambda d: d.malformed and not d.keys and "rpcordma" in d.protocols),
    Case("reliable_datagram_headers_read_late",
         "tshark skips eight bytes between the BTH and the RDETH of every RD packet; IBTA vol. 1 "
         "has the RDETH behind the BTH (9.3.1, table 38). RD carries no RoCE traffic.",
         "other_transports",
         lambda d: d.ours["opcode"] >> 5 == RELIABLE_DATAGRAM and d.only_in(*EXTENDED_HEADERS)),
    Case("extended_connection_opcodes_unknown",
         "tshark 4.0 has no XRC opcodes (Annex A14) and shows only the BTH.",
         "other_transports",
         lambda d: d.ours["opcode"] >> 5 == EXTENDED_CONNECTION and not d.malformed and
         d.only_in(*EXTENDED_HEADERS) and
         all(key not in d.theirs for key in d.keys)),
    Case("cm_message_not_dissected",
         "tshark 4.0 shows no fields of the CM messages that neither open nor close a connection.",
         "management",
         lambda d: d.ours.get("cm.attribute") in UNDISSECTED_CM and not d.malformed and
         d.only_in("cm.") and all(key not in d.theirs for key in d.keys)),
]

# Not in CASES, because compare.py decodes the frame again with the other protocol disabled and
# compares every field.
SOURCE_PORT = Case(
    "source_port_of_another_protocol",
    "tshark offers a UDP packet to the protocols of both ports, the lower number first. So a "
    "protocol may claim the source port. A packet to port 4791 is RoCE whatever its source port.",
    "source_ports", lambda d: False)


def explain(differences):
    """Splits the differences into (unexplained, {name of the case: count})."""
    unexplained, explained = [], collections.Counter()
    for difference in differences:
        case = next((case for case in CASES if case.covers(difference)), None)
        if case is None:
            unexplained.append(difference)
        else:
            explained[case.name] += 1
    return unexplained, explained
