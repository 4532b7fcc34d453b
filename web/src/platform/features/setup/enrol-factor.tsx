// Enrols an authenticator app: during the set-up, and for operators without a second factor (N20, N21).

import { useQuery } from "@tanstack/react-query";

import { Button } from "../../../components/button";
import { CopyLine } from "../../../components/code-block";
import { Bone, Loading, Region } from "../../../components/data-states";
import { TextField } from "../../../components/field";
import { Form } from "../../../components/form";
import { PageHeading } from "../../../components/page-heading";
import { throwOnError, unwrap } from "../../../lib/failure";
import { useForm } from "../../../lib/use-form";
import { auth } from "../../lib/auth";
import { settings } from "../../settings";
import { texts } from "../../texts";

/** A factor that was begun and never verified stands in the way of a new one of its name. */
async function enrol() {
  const { all } = await unwrap(auth.mfa.listFactors());
  const abandoned = all.filter((factor) => factor.factor_type === "totp" && factor.status === "unverified");
  await Promise.all(abandoned.map(({ id }) => throwOnError(auth.mfa.unenroll({ factorId: id }))));
  return unwrap(
    auth.mfa.enroll({
      factorType: "totp",
      friendlyName: texts.setup.factorName(settings.instanceName),
      issuer: settings.instanceName,
    }),
  );
}

type Props = { onDone: () => void };

export default function EnrolFactor({ onDone }: Props) {
  const factor = useQuery({
    queryKey: ["enrol-factor"],
    queryFn: enrol,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    retry: false,
  });
  const form = useForm({
    values: { code: "" },
    checks: { code: (code) => (/^\d{6}$/.test(code.replace(/\s/g, "")) ? undefined : texts.setup.codeShort) },
    submit: async ({ code }) => {
      const factorId = factor.data!.id;
      await unwrap(auth.mfa.challengeAndVerify({ factorId, code: code.replace(/\s/g, "") }));
      onDone();
    },
  });
  return (
    <main id="content" className="mx-auto grid w-full max-w-md content-start gap-5 px-4 py-[10vh]">
      <div className="grid gap-1.5">
        <PageHeading>{texts.setup.factorTitle}</PageHeading>
        <p className="text-soft">{texts.setup.factorLead}</p>
      </div>
      <Region
        query={factor}
        errorTitle={texts.setup.factorNotLoaded}
        skeleton={
          <Loading label={texts.setup.factorLoading}>
            <Bone className="size-44" />
          </Loading>
        }
      >
        {({ totp }) => (
          <>
            <img
              src={totp.qr_code}
              alt={texts.setup.factorImage}
              className="size-44 rounded-lg border border-line bg-white p-2"
            />
            <div className="grid gap-1.5">
              <p className="text-label font-medium">{texts.setup.factorSecret}</p>
              <CopyLine text={totp.secret} label={texts.setup.factorSecret} />
            </div>
            <Form form={form} label={texts.setup.factorTitle}>
              <TextField
                {...form.field("code")}
                label={texts.setup.code}
                inputMode="numeric"
                autoComplete="one-time-code"
                maxLength={7}
                className="max-w-40 font-mono tracking-[0.3em]"
              />
              <div>
                <Button type="submit" isBusy={form.isBusy} busyLabel={texts.setup.verifying}>
                  {texts.setup.verify}
                </Button>
              </div>
            </Form>
          </>
        )}
      </Region>
    </main>
  );
}
