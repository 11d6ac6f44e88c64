// SPDX-License-Identifier: BSD-3-Clause
// A view that fails says so, and leaves the others usable.
import { Component, type ComponentChildren } from "preact";
import { Notice } from "./await";

export class Guard extends Component<{ children: ComponentChildren }, { error?: string }> {
  override state: { error?: string } = {};

  override componentDidCatch(error: unknown) {
    console.error(error);
    this.setState({ error: error instanceof Error ? error.message : String(error) });
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <Notice kind="refused" title="This view failed">
        It is a mistake in the page, not in what the box knows. <code>{this.state.error}</code>
      </Notice>
    );
  }
}
