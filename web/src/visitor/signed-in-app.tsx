// All pages for signed-in users, in a separate lazy chunk that guests do not load.

import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { Route, Switch } from "wouter";

import { LeaveDialog } from "./components/leave-dialog";
import { StepUpProvider } from "./features/step-up/step-up";
import { toFailure } from "../lib/failure";
import { useSession } from "./lib/session";
import { settings } from "./lib/settings";
import { signOutOnSessionError } from "./lib/sign-out";
import { AccountNotFound, AccountShell } from "./account-layout";
import { RequireSession } from "./guards";
import { ChangeEmail } from "./routes/change-email";
import { ChangePassword } from "./routes/change-password";
import { DeleteAccount } from "./routes/delete-account";
import { Identities } from "./routes/identities";
import { NewPhone } from "./routes/new-phone";
import { NewTotp } from "./routes/new-totp";
import { Profile } from "./routes/profile";
import { Security } from "./routes/security";
import { Sessions } from "./routes/sessions";

const createQueryClient = () =>
  new QueryClient({
    queryCache: new QueryCache({ onError: (error) => signOutOnSessionError(toFailure(error)) }),
    defaultOptions: {
      queries: {
        // Retry network and server errors only.
        retry: (count, error) => count < 2 && ["offline", "server_error"].includes(toFailure(error).code),
        staleTime: 10_000,
        networkMode: "always",
      },
      // Fail at once when offline, instead of pausing until the connection is back.
      mutations: { networkMode: "always" },
    },
  });

export default function SignedInApp() {
  const session = useSession();
  // Keyed by user: when another user signs in, here or in another tab, no cached data carries over.
  return (
    <RequireSession>
      <SignedInRoutes key={session?.user.id} />
    </RequireSession>
  );
}

/** Routes with a query cache of their own. */
function SignedInRoutes() {
  const [queryClient] = useState(createQueryClient);
  return (
    <QueryClientProvider client={queryClient}>
      <StepUpProvider>
        <AccountShell>
          <Switch>
            <Route path="/account" component={Profile} />
            <Route path="/account/email" component={ChangeEmail} />
            <Route path="/account/password" component={ChangePassword} />
            <Route path="/account/security" component={Security} />
            <Route path="/account/security/totp/new" component={NewTotp} />
            <Route path="/account/security/phone/new" component={NewPhone} />
            <Route path="/account/identities" component={Identities} />
            <Route path="/account/sessions" component={Sessions} />
            {settings.selfDelete && <Route path="/account/delete" component={DeleteAccount} />}
            <Route component={AccountNotFound} />
          </Switch>
        </AccountShell>
        <LeaveDialog />
      </StepUpProvider>
    </QueryClientProvider>
  );
}
