#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The fabric, forwarding and fault kinds of testbeds/ovs_lab. fabric_test.py TESTBEDS [UNITTEST ARGUMENT...]"""

import json
import unittest

import lab_modules  # noqa: F401 (the modules of the lab, below, need it)
from shown_fabric import shown

import effects
import fabric as fabrics
import fault_kinds
import forwarding
import telemetry
from fabric import Fabric
from problem import Problem


def names(ports):
    return [port.full_name for port in ports]


class FabricTest(unittest.TestCase):
    def setUp(self):
        self.fabric = Fabric(shown())

    def test_ports_have_numbers_that_are_unique_in_the_lab(self):
        indexes = [port.index for port in self.fabric.ports.values()]
        self.assertEqual(len(set(indexes)), len(indexes))
        self.assertEqual(self.fabric.ports["leaf1:Ethernet3"].index, 203)
        self.assertEqual(self.fabric.ports["host2:mlx5_0"].index, 10_003)

    def test_the_mac_address_of_a_host_follows_from_its_address(self):
        self.assertEqual(self.fabric.hosts["host3"].mac, "02:00:0a:00:00:04")

    def test_a_link_is_found_by_nodes_by_port_and_by_name(self):
        for place, sender in (("leaf0:spine1", "leaf0:Ethernet4"), ("spine1:leaf0", "spine1:Ethernet1"),
                              ("leaf0:Ethernet4", "leaf0:Ethernet4"),
                              ("spine1:Ethernet1-leaf0:Ethernet4", None)):
            link, found = self.fabric.link(place)
            self.assertEqual((link.name, found), ("leaf0:Ethernet4-spine1:Ethernet1", sender), place)

    def test_a_place_that_does_not_exist_is_a_problem(self):
        for place in ("leaf0:leaf1", "leaf0:Ethernet9", "nowhere", ""):
            with self.assertRaises(Problem):
                self.fabric.link(place)
        with self.assertRaises(Problem):
            self.fabric.switch("host0")
        with self.assertRaises(Problem):
            self.fabric.host("host0:mlx5_1")

    def test_a_leaf_reaches_another_one_over_all_spines(self):
        hops = self.fabric.next_hops()
        self.assertEqual(names(hops["leaf0", "leaf1"]), ["leaf0:Ethernet3", "leaf0:Ethernet4"])
        self.assertEqual(names(hops["spine0", "leaf1"]), ["spine0:Ethernet2"])

    def test_routes_avoid_a_link_of_another_switch_that_is_down(self):
        hops = self.fabric.next_hops({"leaf1:Ethernet3-spine0:Ethernet2"})
        self.assertEqual(names(hops["leaf0", "leaf1"]), ["leaf0:Ethernet4"])
        self.assertEqual(names(hops["leaf1", "leaf0"]), ["leaf1:Ethernet4"])
        self.assertEqual(hops["spine0", "leaf1"], [])

    def test_rewired_cables_exchange_their_far_ends(self):
        real = self.fabric.rewired([("leaf0:Ethernet3", "leaf1:Ethernet3")])
        self.assertEqual(real.ports["leaf0:Ethernet3"].peer, "spine0:Ethernet2")
        self.assertEqual(real.ports["spine0:Ethernet1"].peer, "leaf1:Ethernet3")
        self.assertEqual(real.link_of["leaf0:Ethernet3"].name, "leaf0:Ethernet3-spine0:Ethernet2")
        self.assertEqual(names(real.next_hops()["spine0", "leaf0"]), ["spine0:Ethernet2"])

    def test_hosts_with_several_nics_and_long_names_are_refused(self):
        fabric = shown()
        fabric["hosts"][0]["nics"] *= 2
        with self.assertRaisesRegex(Problem, "host0 has 2 NICs"):
            Fabric(fabric)
        fabric = json.loads(json.dumps(shown()).replace("spine0", "spine-with-long-name"))
        with self.assertRaisesRegex(Problem, "too long"):
            Fabric(fabric)

    def test_the_topology_file_has_the_numbers_of_the_interfaces(self):
        mirrors = telemetry.mirrors_of_topology(self.fabric)
        topology = fabrics.topology(self.fabric, "lab", mirrors)
        self.assertEqual(topology["switches"][0]["ports"][2], {"name": "Ethernet3", "number": 103})
        self.assertEqual(len(mirrors), 8)
        self.assertEqual(mirrors[0], {"switch": "leaf0", "session": 1, "direction": "ingress",
                                      "ports": ["Ethernet1"]})


class ForwardingTest(unittest.TestCase):
    def setUp(self):
        self.fabric = Fabric(shown())
        self.conditions = {"down": [], "swaps": [], "polarised": []}

    def test_a_group_has_a_bucket_for_each_path(self):
        line, = forwarding.groups(self.fabric)["leaf0"]
        self.assertIn("type=select,selection_method=hash", line)
        self.assertEqual(line.count("bucket="), 2)
        self.assertIn("watch_port:3,actions=output:3", line)

    def test_switches_hash_with_different_seeds(self):
        groups = forwarding.groups(self.fabric)
        self.assertIn("selection_method_param=1,", groups["leaf0"][0])
        self.assertIn("selection_method_param=2,", groups["leaf1"][0])

    def test_a_polarised_switch_uses_one_port(self):
        line, = forwarding.groups(self.fabric, self.conditions | {"polarised": ["leaf0"]})["leaf0"]
        self.assertEqual(line.count("bucket="), 1)

    def test_routes_follow_swapped_cables(self):
        swaps = [["leaf0:Ethernet3", "leaf1:Ethernet3"]]
        lines = forwarding.groups(self.fabric, self.conditions | {"swaps": swaps})["spine0"]
        self.assertIn("actions=output:2", next(line for line in lines if "group_id=1," in line))

    def test_a_switch_has_two_flows_for_each_host(self):
        lines = forwarding.flows(self.fabric, self.fabric.switches["leaf0"])
        self.assertIn("priority=200,udp,tp_dst=4791,nw_dst=10.0.0.1,actions=dec_ttl,output:1", lines)
        self.assertIn("priority=100,ip,nw_dst=10.0.0.4,actions=dec_ttl,group:2", lines)
        self.assertEqual(len(lines), 8)


class FaultKindsTest(unittest.TestCase):
    def setUp(self):
        self.fabric = Fabric(shown())

    def make(self, *words):
        return fault_kinds.make(None, self.fabric, *words)

    def test_ratios_rates_and_times(self):
        self.assertEqual(fault_kinds.ratio("0.5%"), 0.005)
        self.assertEqual(fault_kinds.rate("10M", 0), 10_000_000)
        self.assertEqual(fault_kinds.rate("10%", 100_000_000), 10_000_000)
        self.assertEqual(fault_kinds.seconds("500ms"), 0.5)
        for text in ("0", "0%", "101%", "-1", "x", "", "nan"):
            with self.assertRaises(Problem, msg=text):
                fault_kinds.ratio(text)
        for read, text in ((lambda text: fault_kinds.rate(text, 1), "0"), (fault_kinds.seconds, "10ms"),
                           (fault_kinds.mtu, "100"), (fault_kinds.mtu, "9216")):
            with self.assertRaises(Problem, msg=text):
                read(text)

    def test_a_loss_has_the_direction_of_its_place(self):
        effect = self.make("loss", "spine1:leaf0", "1%")
        self.assertEqual(names(effect.ports), ["spine1:Ethernet1"])
        self.assertEqual(effect.truth, {"kind": "gray_loss", "place": "leaf0:Ethernet4-spine1:Ethernet1",
                                        "direction": "spine1:Ethernet1"})
        both = self.make("loss", "leaf0:Ethernet4-spine1:Ethernet1", "1%")
        self.assertEqual(len(both.ports), 2)
        self.assertEqual(both.truth["direction"], "")

    def test_every_kind_has_a_place_and_a_truth(self):
        places = {"SWITCH": "leaf0", "HOST": "host1", "HOST:HOST": "host0:host3"}
        values = {"HOST": "host2", "other LINK": "leaf1:spine1"}
        for name, kind in fault_kinds.KINDS.items():
            effect = self.make(name, places.get(kind.place, "leaf0:spine0"), values.get(kind.value))
            self.assertIsInstance(effect, effects.Effect)
            self.assertEqual(effect.truth["kind"], kind.truth)
            self.assertTrue(effect.truth["place"], name)

    def test_swapped_cables_name_the_real_links(self):
        effect = self.make("swap", "leaf0:Ethernet3", "leaf1:Ethernet3")
        self.assertEqual(effect.truth["declared_links"],
                         ["leaf0:Ethernet3-spine0:Ethernet1", "leaf1:Ethernet3-spine0:Ethernet2"])
        self.assertEqual(effect.truth["real_links"],
                         ["leaf0:Ethernet3-spine0:Ethernet2", "leaf1:Ethernet3-spine0:Ethernet1"])

    def test_values_that_are_missing_or_useless_are_problems(self):
        for words in (("down", "leaf0:spine0", "5"), ("blackhole", "leaf0", None), ("loss", "leaf0", "1%"),
                      ("swap", "leaf0:spine0", "leaf0:Ethernet3")):
            with self.assertRaises(Problem, msg=words):
                self.make(*words)


if __name__ == "__main__":
    unittest.main()
