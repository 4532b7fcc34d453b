import { Component, type ReactNode } from "react";

import { Button } from "../components/button";
import { texts } from "./texts";
import { GuestPage } from "./guest-layout";

type Props = { children: ReactNode };

/**
 * Fallback if rendering fails, usually because a lazy chunk could not be loaded: offline, or after a
 * deployment. A reload fixes both.
 */
export class ErrorBoundary extends Component<Props, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <GuestPage title={texts.guestLayout.notLoaded} lead={texts.guestLayout.notLoadedLead} hasError>
        <Button onClick={() => window.location.reload()}>{texts.guestLayout.loadAgain}</Button>
      </GuestPage>
    );
  }
}
