import { useEffect, useState } from "react";
import { useSearch } from "wouter";

import { Notice } from "../../components/notice";
import { TextLink } from "../../components/text-link";
import { toast } from "../../components/toast";
import { arrival, codeOf } from "../../lib/arrival";
import { auth } from "../../lib/auth-client";
import { errorText } from "../../lib/error-text";
import { done, Failure } from "../../lib/failure";
import { lastMethod } from "../../lib/last-method";
import { knownProvider, providerName } from "../../lib/methods";
import { useGo } from "../../lib/navigation";
import { keepNext } from "../../lib/next";
import { needsSecondStep, startRecovery, useSession } from "../../lib/session";
import { useAction } from "../../lib/use-action";
import * as texts from "../../texts";
import { Suspended } from "../banned";
import { GuestPage, GuestSkeleton } from "../guest-layout";
import { Expired } from "./confirm";

/** A code works once, however often the page is drawn. */
let exchanged: ReturnType<typeof auth.exchangeCodeForSession> | null = null;

/**
 * What the address says went wrong. Anybody can write an address, and lead somebody here: it is told, and
 * nothing is done about it.
 */
function saidByAddress(): Failure | null {
  if (arrival.error) return new Failure(codeOf(arrival.error), "");
  return arrival.code ? null : new Failure("bad_oauth_callback", "");
}

/** Whether a failure is about the account or the session of whoever reads it. */
const isPersonal = (failure: Failure) =>
  failure.code === "user_banned" || errorText(failure).place === "signed-out";

/** `/callback`: the end of every way that led through another site. */
export function Callback() {
  const go = useGo();
  const search = useSearch();
  const session = useSession();
  const named = new URLSearchParams(search).get("linked");
  const provider = useKnownProvider(named ?? lastMethod());
  const exchange = useAction(
    async (code: string) => {
      exchanged ??= auth.exchangeCodeForSession(code);
      const answer = await done(exchanged);
      const kind = "redirectType" in answer ? answer.redirectType : null;
      if (kind === "recovery" || kind === "invite") {
        startRecovery(answer.user.id);
        return go.replace("/reset-password", { kind });
      }
      const linked = await knownProvider(named);
      if (linked) toast(texts.callback.connected(providerName(linked)));
      if (needsSecondStep(answer.session)) return go.replace(keepNext("/sign-in/mfa", search));
      go.onwards();
    },
    { isAboutSession: false },
  );
  const said = saidByAddress();
  // The code is exchanged once, with the server.
  useEffect(() => {
    if (!said && arrival.code) void exchange.run(arrival.code);
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);

  const heard = said ?? exchange.failure;
  const failure = heard && session && isPersonal(heard) ? new Failure("unexpected_failure", "") : heard;
  const isBack = !!failure && !!session && named !== null && !!provider;
  const text = failure
    ? errorText(failure, "callback", provider ? providerName(provider) : undefined).text
    : "";
  // Somebody who only wanted to connect an account is still signed in, and goes back there.
  useEffect(() => {
    if (isBack) go.onwards({ notice: text });
    // oxlint-disable-next-line react/exhaustive-deps
  }, [isBack]);

  const isKnown = session !== undefined && provider !== undefined;
  if (!failure || exchange.isBusy || isBack || !isKnown) return <GuestSkeleton />;
  if (failure.code === "user_banned") return <Suspended />;
  if (failure.code === "otp_expired") return <Expired type={arrival.type} />;
  const isCancelled = failure.code === "access_denied";
  return (
    <GuestPage
      title={isCancelled ? texts.callback.cancelled : texts.callback.unfinished}
      hasError={!isCancelled}
    >
      <Notice tone={isCancelled ? "info" : "warn"} role="alert">
        {text}
      </Notice>
      <TextLink href={session ? "/account" : keepNext("/sign-in", search)}>
        {session ? texts.callback.backToAccount : texts.signIn.back}
      </TextLink>
    </GuestPage>
  );
}

/** The provider that somebody comes from, if the project has it; `undefined` until that is known. */
function useKnownProvider(id: string | null) {
  const [provider, setProvider] = useState<string | null>();
  // The answer comes from the network.
  useEffect(() => void knownProvider(id).then(setProvider), [id]);
  return provider;
}
