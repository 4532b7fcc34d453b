import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "../../components/button";
import { Dialog, DialogActions } from "../../components/dialog";
import { TextField } from "../../components/field";
import { Form } from "../../components/form";
import { toast } from "../../components/toast";
import { auth } from "../../lib/auth-client";
import { done, Failure, toFailure } from "../../lib/failure";
import { useForm } from "../../lib/use-form";
import { userQuery } from "../../lib/user";

/** A key that is touched as the second step. */
export function AddSecurityKey() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button variant="secondary" onClick={() => setOpen(true)}>
        Add a security key
      </Button>
      {isOpen && (
        <Dialog title="Add a security key" onClose={() => setOpen(false)}>
          <NameForm onClose={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  );
}

function NameForm({ onClose }: { onClose: () => void }) {
  const cache = useQueryClient();
  const form = useForm({
    values: { name: "Security key" },
    checks: { name: (name) => (name.trim() ? undefined : "Give it a name.") },
    submit: async ({ name }) => {
      try {
        await done(auth.mfa.webauthn.register({ friendlyName: name.trim() }));
      } catch (error) {
        const failure = toFailure(error);
        const isOurs = /^(mfa|too_many|insufficient|offline|server|over)/.test(failure.code);
        throw isOurs ? failure : new Failure("webauthn_verification_failed", failure.message);
      }
      await cache.invalidateQueries(userQuery);
      toast("Security key added.");
      onClose();
    },
  });
  return (
    <Form form={form} label="Add a security key">
      <TextField
        {...form.field("name")}
        label="Name"
        hint="So that you can tell your keys apart."
        maxLength={60}
      />
      <DialogActions>
        <Button variant="secondary" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" isBusy={form.isBusy} busyLabel="Waiting for your key…">
          Continue
        </Button>
      </DialogActions>
    </Form>
  );
}
