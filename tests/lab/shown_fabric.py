# SPDX-License-Identifier: BSD-3-Clause
"""A leaf-spine fabric in the format of `rocescope topology generate -o json`."""


def shown(leaves=2, spines=2, hosts=4, speed=100_000_000):
    per_leaf = -(-hosts // leaves)
    switches, machines, links = [], [], []

    def connect(first, second):
        links.append({"ends": [first, second], "bits_per_second": str(speed), "delay_ns": "1000"})

    for leaf in range(leaves):
        own = range(leaf * per_leaf, min(hosts, (leaf + 1) * per_leaf))
        ports = [{"name": f"Ethernet{n}", "number": n, "peer": f"host{host}:mlx5_0"}
                 for n, host in enumerate(own, 1)]
        for host, port in zip(own, ports):
            machines.append({
                "name": f"host{host}", "gpus": [{"number": 0, "rail": 0, "nic": "mlx5_0"}],
                "nics": [{"device": "mlx5_0", "port": "mlx5_0", "number": 1, "rail": 0,
                          "addresses": [{"address": f"10.0.0.{host + 1}"}],
                          "peer": f"leaf{leaf}:{port['name']}"}]})
            connect(f"host{host}:mlx5_0", f"leaf{leaf}:{port['name']}")
        for spine in range(spines):
            number = len(own) + spine + 1
            ports.append({"name": f"Ethernet{number}", "number": number, "peer": f"spine{spine}:Ethernet{leaf + 1}"})
            connect(f"leaf{leaf}:Ethernet{number}", f"spine{spine}:Ethernet{leaf + 1}")
        switches.append(switch(f"leaf{leaf}", "leaf", len(switches) + 1, ports))
    for spine in range(spines):
        ports = [{"name": f"Ethernet{leaf + 1}", "number": leaf + 1,
                  "peer": next(f"leaf{leaf}:{port['name']}" for port in switches[leaf]["ports"]
                               if port["peer"] == f"spine{spine}:Ethernet{leaf + 1}")} for leaf in range(leaves)]
        switches.append(switch(f"spine{spine}", "spine", len(switches) + 1, ports))
    return {"name": "leaf-spine", "switches": switches, "hosts": machines, "links": links, "mirrors": []}


def switch(name, tier, number, ports):
    address = f"172.16.0.{number}"
    return {"name": name, "tier": tier, "int_switch_id": number, "sflow_agent": address,
            "erspan_source": address, "ports": ports}
