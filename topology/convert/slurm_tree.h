// SPDX-License-Identifier: BSD-3-Clause
// Writes a fabric for Slurm's topology/tree plugin (slurm.schedmd.com/topology.conf.html), so that
// a scheduler without further information places jobs on nearby nodes.
//
// Slurm requires a tree: each node is below one switch line, and each line is below one other.
// Fabrics are not trees: a host with rails has several leaves, and a leaf has several spines. Only
// the proximity of nodes matters to Slurm. Therefore
//   a leaf line    represents a leaf, or all leaves of the rails of the same hosts;
//   a middle line  represents all spines of a pod, between which ECMP balances;
//   the top line   represents all cores.
// Disconnected parts of the fabric have separate top lines, and Slurm places no job across them.
#pragma once

#include <string>
#include <vector>

#include "topology/fabric.h"

namespace rocescope::topology {

struct SlurmTree {
  std::string text;                // file content: SwitchName= lines and comments
  std::vector<std::string> notes;  // what the file omits, for the user
};

SlurmTree WriteSlurmTree(const Fabric& fabric);

}  // namespace rocescope::topology
