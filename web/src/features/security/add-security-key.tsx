import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "../../components/button";
import { Dialog, DialogActions } from "../../components/dialog";
import { TextField } from "../../components/field";
import { Form } from "../../components/form";
import { toast } from "../../components/toast";
import { auth } from "../../lib/auth-client";
import { useCeremony } from "../../lib/ceremony";
import { done, Failure, toFailure } from "../../lib/failure";
import { useForm } from "../../lib/use-form";
import { userQuery } from "../../lib/user";
import * as texts from "../../texts";

type Guarded = <T>(call: () => Promise<T>) => Promise<T>;

/** A key that is touched as the second step. */
export function AddSecurityKey({ guarded }: { guarded: Guarded }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button variant="secondary" onClick={() => setOpen(true)}>
        {texts.security.addKey}
      </Button>
      {isOpen && (
        <Dialog title={texts.security.addKey} onClose={() => setOpen(false)}>
          <NameForm guarded={guarded} onClose={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  );
}

async function register(friendlyName: string, signal: AbortSignal, isSecond = false): Promise<void> {
  try {
    await done(auth.mfa.webauthn.register({ friendlyName, webauthn: { signal } }));
  } catch (error) {
    const failure = toFailure(error);
    // The client has just removed what an attempt that nobody finished left under this name.
    if (failure.code === "mfa_factor_name_conflict" && !isSecond) return register(friendlyName, signal, true);
    throw failure;
  }
}

function NameForm({ guarded, onClose }: { guarded: Guarded; onClose: () => void }) {
  const cache = useQueryClient();
  const begin = useCeremony();
  const form = useForm({
    values: { name: texts.secondStep.kinds.webauthn },
    checks: { name: (name) => (name.trim() ? undefined : texts.checks.nameMissing) },
    submit: async ({ name }) => {
      try {
        await guarded(() => register(name.trim(), begin()));
      } catch (error) {
        const failure = toFailure(error);
        // What was begun is among the unfinished ones.
        void cache.invalidateQueries(userQuery);
        // Other codes are the browser's, about a ceremony that did not happen.
        const isOurs = /^[a-z_]+$/.test(failure.code) && failure.code !== "mfa_verification_failed";
        throw isOurs ? failure : new Failure("key_not_used", failure.message);
      }
      await cache.invalidateQueries(userQuery);
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
