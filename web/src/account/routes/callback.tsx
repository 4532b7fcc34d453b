import { useEffect } from "react";
import { useSearch } from "wouter";

import { Notice } from "../../components/notice";
import { TextLink } from "../../components/text-link";
import { toast } from "../../components/toast";
import { arrival, codeOf } from "../../lib/arrival";
import { auth } from "../../lib/auth-client";
import { errorText } from "../../lib/error-text";
import { done, Failure } from "../../lib/failure";
import { lastMethod } from "../../lib/last-method";
import { providerName } from "../../lib/methods";
import { useGo } from "../../lib/navigation";
import { keepNext } from "../../lib/next";
import { needsSecondStep, startRecovery, useSession } from "../../lib/session";
import { useAction } from "../../lib/use-action";
import * as texts from "../../texts";
import { GuestPage, GuestSkeleton } from "../guest-layout";
import { Expired } from "./confirm";

/** A code works once, however often the page is drawn. */
let exchanged: ReturnType<typeof auth.exchangeCodeForSession> | null = null;

/** `/callback`: the end of every way that led through another site. */
export function Callback() {
  const go = useGo();
  const search = useSearch();
  const session = useSession();
  const linked = new URLSearchParams(search).get("linked");
  const { run, failure, isBusy } = useAction(async () => {
    if (arrival.error) throw new Failure(codeOf(arrival.error), "");
    if (!arrival.code) throw new Failure("bad_oauth_callback", "");
    exchanged ??= auth.exchangeCodeForSession(arrival.code);
    const answer = await done(exchanged);
    const kind = "redirectType" in answer ? answer.redirectType : null;
    if (kind === "recovery" || kind === "invite") {
      startRecovery(answer.user.id);
      return go.replace("/reset-password", { kind });
    }
    if (linked) toast(texts.callback.connected(providerName(linked)));
    if (needsSecondStep(answer.session)) return go.replace(keepNext("/sign-in/mfa", search));
    go.onwards();
  });
  // The code is exchanged once, with the server.
  // oxlint-disable-next-line react/exhaustive-deps
  useEffect(() => void run(), []);

  const isBack = !!failure && !!session && !!linked;
  const provider = linked ?? lastMethod();
  const text = failure
    ? errorText(failure, "callback", provider === null ? undefined : providerName(provider)).text
    : "";
  // Somebody who only wanted to connect an account is still signed in, and goes back there.
  useEffect(() => {
    if (isBack) go.onwards({ notice: text });
    // oxlint-disable-next-line react/exhaustive-deps
  }, [isBack]);

  if (!failure || isBusy || isBack || session === undefined) return <GuestSkeleton />;
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
