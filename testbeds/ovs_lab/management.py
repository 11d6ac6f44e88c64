# SPDX-License-Identifier: BSD-3-Clause
"""The management network of a lab with Slurm: a bridge that connects the hosts with the controller. It has
no connection to the fabric, so mirrors never contain its packets."""

import ipaddress

from system import ip_batch

NAMESPACE = "control"
NETWORK = ipaddress.ip_network("172.31.0.0/16")
CONTROLLER_ADDRESS = str(NETWORK[-2])
BRIDGE, INTERFACE = "mgmt", "mgmt0"


def addresses(fabric):
    """The management address of each host, by name."""
    return {name: str(NETWORK[number]) for number, name in enumerate(fabric.hosts, 1)}


def create(state, fabric):
    control = state.namespace(NAMESPACE)
    ip_batch([f"link add name {BRIDGE} type bridge",
              f"address add {CONTROLLER_ADDRESS}/{NETWORK.prefixlen} dev {BRIDGE}", f"link set dev {BRIDGE} up",
              *(f"link add name {host} up master {BRIDGE} type veth peer name {INTERFACE} netns "
                f"{state.namespace(host)}" for host in fabric.hosts)], control)
    for host, address in addresses(fabric).items():
        ip_batch([f"address add {address}/{NETWORK.prefixlen} dev {INTERFACE}", f"link set dev {INTERFACE} up"],
                 state.namespace(host))
