// SPDX-License-Identifier: BSD-3-Clause
// Shows an error in place of a view that fails. The other views stay usable.
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
        This is a defect of the dashboard; the data is not affected. <code>{this.state.error}</code>
      </Notice>
    );
  }
}
