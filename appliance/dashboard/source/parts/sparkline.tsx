// SPDX-License-Identifier: BSD-3-Clause
// A small line without axes, from 0 to the greatest value.

const kWidth = 120;
const kHeight = 24;

// The path of the line in the given box. A null interrupts it.
export function sparkPath(times: number[], values: (number | null)[], width = kWidth, height = kHeight): string {
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const most = Math.max(...values.map((value) => value ?? 0)) * 1.1 || 1;
  let isDown = false; // the pen
  return values.map((value, i) => {
    if (value === null) {
      isDown = false;
      return "";
    }
    const x = last > first ? (((times[i] as number) - first) / (last - first)) * width : width;
    const y = height - 1 - (value / most) * (height - 2);
    const step = `${isDown ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    isDown = true;
    return step;
  }).join("");
}

export function Sparkline({ label, times, values }: { label: string; times: number[]; values: (number | null)[] }) {
  return (
    <svg class="sparkline" role="img" aria-label={label} viewBox={`0 0 ${kWidth} ${kHeight}`} preserveAspectRatio="none">
      <title>{label}</title>
      <path d={sparkPath(times, values)} />
    </svg>
  );
}
