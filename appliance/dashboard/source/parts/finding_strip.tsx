// SPDX-License-Identifier: BSD-3-Clause
// What is wrong, in a sentence each, above all else on the page that opens first.
import type { ListFindingsResponse } from "../api/messages";
import { percent } from "../format/quantities";
import { useResource } from "../store/use_store";
import { nothingFound } from "../findings/coverage";
import { Tag } from "./names";
import { href } from "./route";

const kShown = 3;

export function FindingStrip() {
  const answer = useResource<ListFindingsResponse>("/api/v1/findings");
  const value = answer.value;
  if (!value) return null; // the map below says why, and so does the header
  if (value.findings.length === 0) {
    const { title } = nothingFound(value.coverage);
    return <p class="strip-calm">{title} <a href={href("findings")}>What was looked at</a></p>;
  }
  return (
    <section class="strip" aria-label="Faults">
      {value.findings.slice(0, kShown).map((finding) => (
        <a key={finding.sentence} href={href("findings")} data-item="">
          <Tag kind={finding.until_ns === "0" ? "fault" : "over"} text={finding.until_ns === "0" ? "lasts" : "over"} />
          <span>{finding.sentence}</span>
          <span class="muted">{percent(finding.confidence)} sure</span>
        </a>
      ))}
      {value.findings.length > kShown && (
        <a href={href("findings")}>{value.findings.length - kShown} more faults</a>
      )}
    </section>
  );
}
