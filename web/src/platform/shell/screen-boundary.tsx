import { Component, type ReactNode } from "react";

import { Button } from "../../components/button";
import { texts } from "../texts";
import { Screen } from "./screen";

type Props = { children: ReactNode };

/** A screen that cannot be shown leaves the frame standing. Usually its code is of another version (B5). */
export class ScreenBoundary extends Component<Props, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render() {
    return this.state.hasFailed ? <NotLoaded /> : this.props.children;
  }
}

export function NotLoaded() {
  return (
    <Screen title={texts.shell.notLoadedTitle}>
      <p className="max-w-xl text-soft">{texts.shell.notLoadedText}</p>
      <div>
        <Button onClick={() => window.location.reload()}>{texts.shell.loadAgain}</Button>
      </div>
    </Screen>
  );
}
