import type { PasskeyListItem } from "@supabase/auth-js";
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";

import { Button } from "../../../components/button";
import { Card, Row, rowsClass } from "../../../components/card";
import { ConfirmDialog } from "../../components/confirm-dialog";
import { Dialog, DialogActions } from "../../components/dialog";
import { TextField } from "../../../components/field";
import { Form } from "../../../components/form";
import { Notice } from "../../../components/notice";
import { LoadError, Skeleton } from "../../../components/states";
import { Time } from "../../../components/time";
import { toast } from "../../components/toast";
import { auth } from "../../lib/auth-client";
import { errorText } from "../../lib/error-text";
import { unwrap, Failure, throwOnError, toFailure } from "../../../lib/failure";
import { useAction } from "../../../lib/use-action";
import { useForm } from "../../../lib/use-form";
import { useWebAuthnCeremony } from "../../lib/webauthn-ceremony";
import { texts } from "../../texts";

const passkeysQuery = queryOptions({
  queryKey: ["passkeys"],
  queryFn: async () => Array.from((await unwrap(auth.passkey.list())) as PasskeyListItem[]),
});

type WithStepUp = <T>(call: () => Promise<T>) => Promise<T>;

/** The user's passkeys, which sign in without a password. */
export function Passkeys({ withStepUp }: { withStepUp: WithStepUp }) {
  const passkeys = useQuery(passkeysQuery);
  const queryClient = useQueryClient();
  const beginCeremony = useWebAuthnCeremony();
  const add = useAction(async () => {
    try {
      await withStepUp(() => unwrap(auth.registerPasskey({ options: { signal: beginCeremony() } })));
    } catch (error) {
      throw toPasskeyFailure(toFailure(error));
    }
    await queryClient.invalidateQueries(passkeysQuery);
    toast(texts.passkeys.added);
  });
  return (
    <Card title={texts.passkeys.title} lead={texts.passkeys.lead}>
      <PasskeyList passkeys={passkeys} withStepUp={withStepUp} />
      {add.failure && (
        <Notice tone="danger" role="alert">
          {errorText(add.failure).text}
        </Notice>
      )}
      <div>
        <Button
          variant="secondary"
          isBusy={add.isBusy}
          busyLabel={texts.passkeys.waitingForDevice}
          onClick={() => void add.run()}
        >
          {texts.passkeys.add}
        </Button>
      </div>
    </Card>
  );
}

/** Maps WebAuthn errors of the browser: cancelled, or already registered on this device. */
function toPasskeyFailure(failure: Failure): Failure {
  const description = `${failure.code} ${failure.message}`;
  if (/InvalidState|previously registered|excluded/i.test(description))
    return new Failure("webauthn_credential_exists", "");
  if (/NotAllowed|not allowed|timed out|abort/i.test(description)) return new Failure("cancelled", "");
  return failure;
}

function PasskeyList({
  passkeys,
  withStepUp,
}: {
  passkeys: ReturnType<typeof useQuery<PasskeyListItem[]>>;
  withStepUp: WithStepUp;
}) {
  if (passkeys.isPending) return <Skeleton label={texts.passkeys.loading} lines={2} />;
  if (passkeys.isError) return <LoadError error={passkeys.error} onRetry={passkeys.refetch} />;
  if (passkeys.data.length === 0) return <p className="text-sm text-soft">{texts.passkeys.none}</p>;
  return (
    <ul aria-label={texts.passkeys.title} className={rowsClass}>
      {passkeys.data.map((passkey) => (
        <PasskeyRow key={passkey.id} passkey={passkey} withStepUp={withStepUp} />
      ))}
    </ul>
  );
}

function PasskeyRow({ passkey, withStepUp }: { passkey: PasskeyListItem; withStepUp: WithStepUp }) {
  const queryClient = useQueryClient();
  const [open, setOpen] = useState<"rename" | "remove" | null>(null);
  const name = passkey.friendly_name || texts.passkeys.passkey;
  const close = () => setOpen(null);
  const remove = async () => {
    await withStepUp(() => throwOnError(auth.passkey.delete({ passkeyId: passkey.id })));
    await queryClient.invalidateQueries(passkeysQuery);
    toast(texts.security.removed(name));
  };
  return (
    <Row
      icon={<KeyRound className="size-5" />}
      title={name}
      details={
        <>
          {texts.security.added(<Time at={passkey.created_at} form="day" />)}
          {passkey.last_used_at && <> · {texts.security.used(<Time at={passkey.last_used_at} />)}</>}
        </>
      }
      action={
        <div className="flex flex-wrap gap-2">
          <Button
            variant="secondary"
            size="sm"
            aria-label={texts.passkeys.renameOf(name)}
            onClick={() => setOpen("rename")}
          >
            {texts.passkeys.rename}
          </Button>
          <Button
            variant="secondary"
            size="sm"
            aria-label={texts.security.removeOf(name)}
            onClick={() => setOpen("remove")}
          >
            {texts.security.remove}
          </Button>
          {open === "rename" && (
            <Dialog title={texts.passkeys.renameTitle} onClose={close}>
              <RenameForm passkey={passkey} name={name} withStepUp={withStepUp} onClose={close} />
            </Dialog>
          )}
          {open === "remove" && (
            <ConfirmDialog
              title={texts.security.removeTitle(name)}
              action={texts.security.remove}
              busyLabel={texts.security.removing}
              onConfirm={remove}
              onClose={close}
            >
              <p>{texts.passkeys.removeText}</p>
            </ConfirmDialog>
          )}
        </div>
      }
    />
  );
}

function RenameForm({
  passkey,
  name,
  withStepUp,
  onClose,
}: {
  passkey: PasskeyListItem;
  name: string;
  withStepUp: WithStepUp;
  onClose: () => void;
}) {
  const queryClient = useQueryClient();
  const form = useForm({
    values: { name },
    checks: { name: (value) => (value.trim() ? undefined : texts.checks.nameMissing) },
    submit: async (values) => {
      const friendlyName = values.name.trim();
      await withStepUp(() => unwrap(auth.passkey.update({ passkeyId: passkey.id, friendlyName })));
      await queryClient.invalidateQueries(passkeysQuery);
      toast(texts.passkeys.renamed);
      onClose();
    },
  });
  return (
    <Form form={form} label={texts.passkeys.renameTitle}>
      <TextField {...form.field("name")} label={texts.common.name} maxLength={60} />
      <DialogActions>
        <Button variant="secondary" onClick={onClose}>
          {texts.common.cancel}
        </Button>
        <Button type="submit" isBusy={form.isBusy} busyLabel={texts.common.saving}>
          {texts.passkeys.save}
        </Button>
      </DialogActions>
    </Form>
  );
}
