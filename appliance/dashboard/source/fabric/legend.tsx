// SPDX-License-Identifier: BSD-3-Clause
// The legend for the colours of the links.
import type { Colouring } from "./loads";
import type { Metric } from "./metrics";

interface Props {
  colouring: Colouring;
  metric: Metric;
}

export function Legend({ colouring, metric }: Props) {
  const known = colouring.most > 0;
  return (
    <ul class="legend" aria-label={`Colours by ${metric.title.toLowerCase()}`}>
      <li><span class="swatch swatch-unknown" />unknown</li>
      <li><span class="swatch swatch-0" />{known ? `< ${metric.text(colouring.bounds[0] as number)}` : "none"}</li>
      {known && colouring.bounds.map((bound, i) => (
        <li key={i}><span class={`swatch swatch-${i + 1}`} />≥ {metric.text(bound)}</li>
      ))}
      <li><span class="swatch swatch-hot" />hotspot</li>
      <li><span class="swatch swatch-fault" />fault</li>
    </ul>
  );
}
