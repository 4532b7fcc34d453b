import { useEffect, useState } from "react";
import { useSearch } from "wouter";

import { Notice } from "../../components/notice";
import { TextLink } from "../components/text-link";
import { toast } from "../components/toast";
import { auth } from "../lib/auth-client";
import { errorText } from "../lib/error-text";
import { unwrap, Failure } from "../../lib/failure";
import { lastSignInMethod } from "../lib/last-sign-in-method";
import { useNavigation } from "../lib/navigation";
import { withNext } from "../../lib/next-param";
import { redirectParams, redirectErrorCode } from "../lib/redirect-params";
import { needsSecondFactor, startRecovery, useSession } from "../lib/session";
import { findEnabledProvider, providerName } from "../lib/sign-in-methods";
import { useAction } from "../../lib/use-action";
import { texts } from "../texts";
import { SuspendedPage } from "../banned-boundary";
import { GuestPage, GuestSkeleton } from "../guest-layout";
import { ExpiredLink } from "./confirm";

/** A code can be codeExchange only once, even if the component mounts again. */
let codeExchange: ReturnType<typeof auth.exchangeCodeForSession> | null = null;

/** The error in the URL. URLs are untrusted: it is displayed, but never acted on. */
function errorFromUrl(): Failure | null {
  if (redirectParams.error) return new Failure(redirectErrorCode(redirectParams.error), "");
  return redirectParams.code ? null : new Failure("bad_oauth_callback", "");
}

/** Whether a failure is about the user's account or session. */
const isAboutUser = (failure: Failure) =>
  failure.code === "user_banned" || errorText(failure).place === "signed-out";

/** `/callback`: redirect target of OAuth and SSO providers. */
export function Callback() {
  const nav = useNavigation();
  const search = useSearch();
  const session = useSession();
  const linkedProvider = new URLSearchParams(search).get("linked");
  const provider = useEnabledProvider(linkedProvider ?? lastSignInMethod());
  const exchange = useAction(
    async (code: string) => {
      codeExchange ??= auth.exchangeCodeForSession(code);
      const result = await unwrap(codeExchange);
      const kind = "redirectType" in result ? result.redirectType : null;
      if (kind === "recovery" || kind === "invite") {
        startRecovery(result.user.id);
        return nav.replace("/reset-password", { kind });
      }
      const linked = await findEnabledProvider(linkedProvider);
      if (linked) toast(texts.callback.connected(providerName(linked)));
      if (needsSecondFactor(result.session)) return nav.replace(withNext("/sign-in/mfa", search));
      nav.toNext();
    },
    { handlesSessionErrors: false },
  );
  const urlFailure = errorFromUrl();
  // Exchange the code on mount.
  useEffect(() => {
    if (!urlFailure && redirectParams.code) void exchange.run(redirectParams.code);
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);

  const rawFailure = urlFailure ?? exchange.failure;
  const failure =
    rawFailure && session && isAboutUser(rawFailure) ? new Failure("unexpected_failure", "") : rawFailure;
  const isFailedLink = !!failure && !!session && linkedProvider !== null && !!provider;
  const text = failure
    ? errorText(failure, "callback", provider ? providerName(provider) : undefined).text
    : "";
  // Linking an identity failed: the user is still signed in and returns to the identities page.
  useEffect(() => {
    if (isFailedLink) nav.toNext({ notice: text });
    // oxlint-disable-next-line react/exhaustive-deps
  }, [isFailedLink]);

  const isLoaded = session !== undefined && provider !== undefined;
  if (!failure || exchange.isBusy || isFailedLink || !isLoaded) return <GuestSkeleton />;
  if (failure.code === "user_banned") return <SuspendedPage />;
  if (failure.code === "otp_expired") return <ExpiredLink type={redirectParams.type} />;
  const isCancelled = failure.code === "access_denied";
  return (
    <GuestPage
      title={isCancelled ? texts.callback.cancelled : texts.callback.unfinished}
      hasError={!isCancelled}
    >
      <Notice tone={isCancelled ? "info" : "warn"} role="alert">
        {text}
      </Notice>
      <TextLink href={session ? "/account" : withNext("/sign-in", search)}>
        {session ? texts.callback.backToAccount : texts.signIn.back}
      </TextLink>
    </GuestPage>
  );
}

/** The provider if the project has enabled it; `undefined` while loading. */
function useEnabledProvider(id: string | null) {
  const [provider, setProvider] = useState<string | null>();
  useEffect(() => void findEnabledProvider(id).then(setProvider), [id]);
  return provider;
}
