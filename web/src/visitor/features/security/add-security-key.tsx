import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "../../../components/button";
import { Dialog, DialogActions } from "../../components/dialog";
import { TextField } from "../../../components/field";
import { Form } from "../../../components/form";
import { toast } from "../../components/toast";
import { auth } from "../../lib/auth-client";
import { unwrap, Failure, toFailure } from "../../../lib/failure";
import { useForm } from "../../../lib/use-form";
import { userQuery } from "../../lib/user";
import { useWebAuthnCeremony } from "../../lib/webauthn-ceremony";
import { texts } from "../../texts";

type WithStepUp = <T>(call: () => Promise<T>) => Promise<T>;

/** Enrolls a security key as a second factor. */
export function AddSecurityKey({ withStepUp }: { withStepUp: WithStepUp }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button variant="secondary" onClick={() => setOpen(true)}>
        {texts.security.addKey}
      </Button>
      {isOpen && (
        <Dialog title={texts.security.addKey} onClose={() => setOpen(false)}>
          <NameForm withStepUp={withStepUp} onClose={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  );
}

async function register(friendlyName: string, signal: AbortSignal, isRetry = false): Promise<void> {
  try {
    await unwrap(auth.mfa.webauthn.register({ friendlyName, webauthn: { signal } }));
  } catch (error) {
    const failure = toFailure(error);
    // The client has just deleted the unverified factor of this name from an abandoned attempt.
    if (failure.code === "mfa_factor_name_conflict" && !isRetry) return register(friendlyName, signal, true);
    throw failure;
  }
}

function NameForm({ withStepUp, onClose }: { withStepUp: WithStepUp; onClose: () => void }) {
  const queryClient = useQueryClient();
  const beginCeremony = useWebAuthnCeremony();
  const form = useForm({
    values: { name: texts.secondStep.kinds.webauthn },
    checks: { name: (name) => (name.trim() ? undefined : texts.checks.nameMissing) },
    submit: async ({ name }) => {
      try {
        await withStepUp(() => register(name.trim(), beginCeremony()));
      } catch (error) {
        const failure = toFailure(error);
        // The unverified factor is listed as unfinished.
        void queryClient.invalidateQueries(userQuery);
        // Other codes come from the browser: the WebAuthn ceremony failed.
        const isServerError = /^[a-z_]+$/.test(failure.code) && failure.code !== "mfa_verification_failed";
        throw isServerError ? failure : new Failure("key_not_used", failure.message);
      }
      await queryClient.invalidateQueries(userQuery);
      toast(texts.security.keyAdded);
      onClose();
    },
  });
  return (
    <Form form={form} label={texts.security.addKey}>
      <TextField
        {...form.field("name")}
        label={texts.common.name}
        hint={texts.security.keyHint}
        maxLength={60}
      />
      <DialogActions>
        <Button variant="secondary" onClick={onClose}>
          {texts.common.cancel}
        </Button>
        <Button type="submit" isBusy={form.isBusy} busyLabel={texts.security.waitingForKey}>
          {texts.common.continue}
        </Button>
      </DialogActions>
    </Form>
  );
}
