import type { Factor } from "@supabase/auth-js";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Button, buttonClass } from "../../components/button";
import { Card } from "../../components/card";
import { CopyButton } from "../../components/copy-button";
import { TextField } from "../../components/field";
import { Form } from "../../components/form";
import { Notice } from "../../components/notice";
import { TextLink } from "../components/text-link";
import { toast } from "../components/toast";
import { useStepUp } from "../features/step-up/step-up";
import { TotpCode } from "../features/step-up/totp-code";
import { auth } from "../lib/auth-client";
import { errorText } from "../lib/error-text";
import { unwrap, toFailure } from "../../lib/failure";
import { useNavigation } from "../lib/navigation";
import { useSession } from "../lib/session";
import { serviceName } from "../lib/service";
import { useAction } from "../../lib/use-action";
import { useForm } from "../../lib/use-form";
import { userQuery } from "../lib/user";
import { texts } from "../texts";
import { AccountPage } from "../account-layout";

type Enrolled = {
  id: string;
  friendly_name?: string;
  totp: { qr_code: string; secret: string; uri: string };
};

/** `/account/security/totp/new`: a name, then the QR code, then the first code. */
export function NewTotp() {
  const [enrolled, setEnrolled] = useState<Enrolled | null>(null);
  const [isDone, setDone] = useState(false);
  if (isDone) return <Done />;
  return (
    <AccountPage title={texts.newApp.title}>
      {enrolled ? (
        <ScanQrCode enrolled={enrolled} onDone={() => setDone(true)} />
      ) : (
        <NameForm onEnrolled={setEnrolled} />
      )}
    </AccountPage>
  );
}

/** The QR code is returned only once. After a reload, an unverified factor of the same name is replaced. */
async function enroll(friendlyName: string): Promise<Enrolled> {
  const issuer = serviceName;
  const request = () => unwrap(auth.mfa.enroll({ factorType: "totp", friendlyName, issuer }));
  try {
    return await request();
  } catch (error) {
    if (toFailure(error).code !== "mfa_factor_name_conflict") throw error;
    const { all } = await unwrap(auth.mfa.listFactors());
    const isAbandoned = (factor: Factor) =>
      factor.factor_type === "totp" && factor.status !== "verified" && factor.friendly_name === friendlyName;
    const abandoned = all.find(isAbandoned);
    if (!abandoned) throw error;
    await unwrap(auth.mfa.unenroll({ factorId: abandoned.id }));
    return request();
  }
}

type NameFormProps = { onEnrolled: (enrolled: Enrolled) => void };

function NameForm({ onEnrolled }: NameFormProps) {
  const withStepUp = useStepUp();
  const queryClient = useQueryClient();
  const form = useForm({
    values: { name: texts.secondStep.kinds.totp },
    checks: { name: (name) => (name.trim() ? undefined : texts.checks.nameMissing) },
    submit: async ({ name }) => {
      onEnrolled(await withStepUp(() => enroll(name.trim())));
      // Until it is verified, the factor is listed as unfinished.
      void queryClient.invalidateQueries(userQuery);
    },
  });
  return (
    <Card title={texts.newApp.name} lead={texts.newApp.nameLead}>
      <Form form={form} label={texts.newApp.nameForm}>
        <TextField {...form.field("name")} label={texts.common.name} maxLength={60} />
        <div className="flex flex-wrap gap-3">
          <Button type="submit" isBusy={form.isBusy} busyLabel={texts.newApp.preparing}>
            {texts.common.continue}
          </Button>
          <TextLinkButton href="/account/security">{texts.common.cancel}</TextLinkButton>
        </div>
      </Form>
    </Card>
  );
}

function TextLinkButton({ href, children }: { href: string; children: string }) {
  return (
    <span className="flex min-h-target items-center px-2">
      <TextLink href={href}>{children}</TextLink>
    </span>
  );
}

type ScanQrCodeProps = { enrolled: Enrolled; onDone: () => void };

function ScanQrCode({ enrolled, onDone }: ScanQrCodeProps) {
  const nav = useNavigation();
  const queryClient = useQueryClient();
  const session = useSession();
  const { qr_code: qrCode, secret, uri } = enrolled.totp;
  const cancel = useAction(async () => {
    await unwrap(auth.mfa.unenroll({ factorId: enrolled.id }));
    await queryClient.invalidateQueries(userQuery);
    nav.to("/account/security");
  });
  return (
    <>
      <Card title={texts.newApp.scan} lead={texts.newApp.scanLead}>
        <div className="flex flex-wrap gap-6">
          <img
            src={qrCode}
            alt={texts.newApp.picture}
            className="size-48 shrink-0 rounded-md border border-line bg-white p-2"
          />
          <div className="grid min-w-0 flex-1 basis-56 content-start gap-3">
            <p className="text-sm text-soft">
              {texts.newApp.cannotScan(session?.user.email ?? texts.newApp.yourAccount, serviceName)}
            </p>
            <code className="rounded-md bg-sunk px-3 py-2 font-mono text-sm leading-relaxed break-words">
              {secret.replace(/(.{4})(?=.)/g, "$1 ")}
            </code>
            <div className="flex flex-wrap items-center gap-3">
              <CopyButton text={secret} label={texts.newApp.copyKey} />
              <a href={uri} className={buttonClass("quiet", "text")}>
                {texts.newApp.openApp}
              </a>
            </div>
          </div>
        </div>
      </Card>
      <Card title={texts.newApp.type} lead={texts.newApp.typeLead}>
        <TotpCode
          factor={{ id: enrolled.id }}
          submitLabel={texts.newApp.turnOn}
          onDone={() => {
            void queryClient.invalidateQueries(userQuery);
            toast(texts.common.twoStepOn);
            onDone();
          }}
        />
        {cancel.failure && (
          <Notice tone="danger" role="alert">
            {errorText(cancel.failure).text}
          </Notice>
        )}
        <div>
          <Button
            variant="quiet"
            size="text"
            isBusy={cancel.isBusy}
            busyLabel={texts.newApp.cancelling}
            onClick={() => void cancel.run()}
          >
            {texts.common.cancel}
          </Button>
        </div>
      </Card>
    </>
  );
}

function Done() {
  return (
    <AccountPage title={texts.newApp.done}>
      <Card>
        <p className="text-soft">{texts.newApp.doneText}</p>
        <p className="flex flex-wrap gap-x-6 gap-y-2">
          <TextLink href="/account/security">{texts.newApp.seeAll}</TextLink>
        </p>
      </Card>
    </AccountPage>
  );
}
