// SPDX-License-Identifier: BSD-3-Clause
// A fabric as Slurm's topology/tree plugin wants it (slurm.schedmd.com/topology.conf.html), so that
// a scheduler without any other advice keeps jobs close.
//
// A tree it has to be: a node below one switch line, a line below one other. Fabrics are none:
// hosts with rails are below several leaves, leaves below several spines. What matters to Slurm is
// which nodes are close, so that
//   a leaf line   is a leaf, or all leaves that the rails of the same hosts go to;
//   one above     is all spines of a pod, between which ECMP makes no difference;
//   the top       is all cores.
// Parts that no link joins have tops of their own, and no job is put across them.
#pragma once

#include <string>
#include <vector>

#include "topology/fabric.h"

namespace rocescope::topology {

struct SlurmTree {
  std::string text;                // the file: lines of SwitchName=, with comments
  std::vector<std::string> notes;  // what it leaves out, for people
};

SlurmTree WriteSlurmTree(const Fabric& fabric);

}  // namespace rocescope::topology
