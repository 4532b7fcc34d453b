import { lazy, Suspense } from "react";
import { Redirect, Route, Router, Switch } from "wouter";

import { Toaster } from "./components/toast";
import { type PageState, storePageState } from "./lib/navigation";
import { settings } from "./lib/settings";
import { leavePage } from "../lib/unsaved-changes";
import { BannedBoundary } from "./banned-boundary";
import { ErrorBoundary } from "./error-boundary";
import { RouteSkeleton } from "./account-skeleton";
import { Callback } from "./routes/callback";
import { Confirm } from "./routes/confirm";
import { Mfa } from "./routes/mfa";
import { ForgotPassword, ForgotSent, ResetPassword } from "./routes/recovery";
import { SignIn } from "./routes/sign-in";
import { SignInCode } from "./routes/sign-in-code";
import { CheckEmail, SignUp } from "./routes/sign-up";
import { AccountDeleted, NotFound, SignedOut } from "./routes/signed-out";
import { Sso } from "./routes/sso";

const SignedInApp = lazy(() => import("./signed-in-app"));

/** All routes, in the order of the client contract §5. */
export function App() {
  return (
    <Router
      base={settings.mount}
      aroundNav={(navigate, to, options) => {
        leavePage(() =>
          navigate(to, { ...options, state: storePageState(options?.state as PageState | null) }),
        );
      }}
    >
      <ErrorBoundary>
        <Suspense fallback={<RouteSkeleton />}>
          <BannedBoundary>
            <Switch>
              <Route path="/sign-up" component={SignUp} />
              <Route path="/sign-up/check-email" component={CheckEmail} />
              <Route path="/confirm" component={Confirm} />
              <Route path="/callback" component={Callback} />
              <Route path="/sign-in" component={SignIn} />
              <Route path="/sign-in/code" component={SignInCode} />
              <Route path="/sign-in/sso" component={Sso} />
              <Route path="/sign-in/mfa" component={Mfa} />
              <Route path="/forgot-password" component={ForgotPassword} />
              <Route path="/forgot-password/sent" component={ForgotSent} />
              <Route path="/reset-password" component={ResetPassword} />
              <Route path="/signed-out" component={SignedOut} />
              <Route path="/goodbye" component={AccountDeleted} />
              <Route path="/account/*?" component={SignedInApp} />
              <Route path="/">
                <Redirect to="/account" replace />
              </Route>
              <Route component={NotFound} />
            </Switch>
          </BannedBoundary>
        </Suspense>
      </ErrorBoundary>
      <Toaster />
    </Router>
  );
}
