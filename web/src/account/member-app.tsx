// Everything behind the sign-in, in a chunk of its own: guests do not load it.

import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { Route, Switch } from "wouter";

import { StepUp } from "../features/step-up/step-up";
import { toFailure } from "../lib/failure";
import { useSession } from "../lib/session";
import { endIfSignedOut } from "../lib/sign-out";
import { settings } from "../lib/settings";
import { AccountNotFound, AccountShell } from "./account-layout";
import { Member } from "./guards";
import { DeleteAccount } from "./routes/delete-account";
import { ChangeEmail } from "./routes/change-email";
import { Identities } from "./routes/identities";
import { ChangePassword } from "./routes/change-password";
import { NewPhone } from "./routes/new-phone";
import { NewTotp } from "./routes/new-totp";
import { Profile } from "./routes/profile";
import { Security } from "./routes/security";
import { Sessions } from "./routes/sessions";

const newCache = () =>
  new QueryClient({
    queryCache: new QueryCache({ onError: (error) => endIfSignedOut(toFailure(error)) }),
    defaultOptions: {
      queries: {
        // A refusal stays one; only what the network lost is asked for again.
        retry: (count, error) => count < 2 && ["offline", "server_error"].includes(toFailure(error).code),
        staleTime: 10_000,
        networkMode: "always",
      },
      // Without a connection a call fails and says so; it does not wait for better times.
      mutations: { networkMode: "always" },
    },
  });

export default function MemberApp() {
  const session = useSession();
  // Whoever comes next, in this tab or by another, begins with nothing of the one before.
  return (
    <Member>
      <AccountOfOne key={session?.user.id} />
    </Member>
  );
}

/** The pages of one person; what was loaded for them ends with them. */
function AccountOfOne() {
  const [cache] = useState(newCache);
  return (
    <QueryClientProvider client={cache}>
      <StepUp>
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
      </StepUp>
    </QueryClientProvider>
  );
}
