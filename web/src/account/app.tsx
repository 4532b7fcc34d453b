import { lazy, Suspense } from "react";
import { Redirect, Route, Router, Switch } from "wouter";

import { Toaster } from "../components/toast";
import { type Carried, layDown } from "../lib/navigation";
import { settings } from "../lib/settings";
import { canLeave } from "../lib/unsaved";
import { UnlessBanned } from "./banned";
import { FailureBoundary } from "./failure-boundary";
import { GuestSkeleton } from "./guest-layout";
import { Callback } from "./routes/callback";
import { Confirm } from "./routes/confirm";
import { Goodbye, NotFound, SignedOut } from "./routes/farewell";
import { Mfa } from "./routes/mfa";
import { ForgotPassword, ForgotSent, ResetPassword } from "./routes/recovery";
import { SignIn } from "./routes/sign-in";
import { SignInCode } from "./routes/sign-in-code";
import { CheckEmail, SignUp } from "./routes/sign-up";
import { Sso } from "./routes/sso";

const MemberApp = lazy(() => import("./member-app"));

/** Every page, in the order of the client contract §5. */
export function App() {
  return (
    <Router
      base={settings.mount}
      aroundNav={(navigate, to, options) => {
        if (canLeave()) navigate(to, { ...options, state: layDown(options?.state as Carried | null) });
      }}
    >
      <FailureBoundary>
        <Suspense fallback={<GuestSkeleton />}>
          <UnlessBanned>
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
              <Route path="/goodbye" component={Goodbye} />
              <Route path="/account/*?" component={MemberApp} />
              <Route path="/">
                <Redirect to="/account" replace />
              </Route>
              <Route component={NotFound} />
            </Switch>
          </UnlessBanned>
        </Suspense>
      </FailureBoundary>
      <Toaster />
    </Router>
  );
}
