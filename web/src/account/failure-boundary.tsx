import { Component, type ReactNode } from "react";

import { Button } from "../components/button";
import * as texts from "../texts";
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
      <GuestPage title={texts.guestFrame.notLoaded} lead={texts.guestFrame.notLoadedLead} hasError>
        <Button onClick={() => window.location.reload()}>{texts.guestFrame.loadAgain}</Button>
      </GuestPage>
    );
  }
}
