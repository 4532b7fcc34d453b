import { Component, type ReactNode } from "react";

import { Button } from "../components/button";
import { GuestPage } from "./guest-layout";

type Props = { children: ReactNode };

/**
 * What is shown when a page cannot be drawn: mostly because a part of it could not be loaded, without a
 * connection or after an update of the server. Loading everything again helps in both cases.
 */
export class FailureBoundary extends Component<Props, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <GuestPage
        title="This page could not be loaded"
        lead="Check your connection, then load it again."
        hasError
      >
        <Button onClick={() => window.location.reload()}>Load again</Button>
      </GuestPage>
    );
  }
}
