import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "../../components/button";
import { Card } from "../../components/card";
import { Form } from "../../components/form";
import { PhoneField } from "../components/phone-field";
import { TextLink } from "../components/text-link";
import { toast } from "../components/toast";
import { PhoneCode } from "../features/step-up/phone-code";
import { useStepUp } from "../features/step-up/step-up";
import { auth } from "../lib/auth-client";
import { unwrap } from "../../lib/failure";
import { useNavigation } from "../lib/navigation";
import { useForm } from "../../lib/use-form";
import { userQuery } from "../lib/user";
import { checkPhone, normalizePhone } from "../lib/validation";
import { texts } from "../texts";
import { AccountPage } from "../account-layout";

/** `/account/security/phone/new`: enrolls a phone number, then verifies a code. */
export function NewPhone() {
  const nav = useNavigation();
  const queryClient = useQueryClient();
  const withStepUp = useStepUp();
  const [factorId, setFactorId] = useState<string | null>(null);
  const form = useForm({
    values: { phone: "" },
    screen: "phone",
    checks: { phone: checkPhone },
    submit: async ({ phone }) => {
      const number = normalizePhone(phone);
      const enroll = () =>
        unwrap(auth.mfa.enroll({ factorType: "phone", friendlyName: number, phone: number }));
      setFactorId((await withStepUp(enroll)).id);
      // Until it is verified, the factor is listed as unfinished.
      void queryClient.invalidateQueries(userQuery);
    },
  });
  return (
    <AccountPage title={texts.security.addPhone}>
      <Card>
        {factorId ? (
          <PhoneCode
            factor={{ id: factorId, friendly_name: normalizePhone(form.values.phone) }}
            onDone={() => {
              void queryClient.invalidateQueries(userQuery);
              toast(texts.common.twoStepOn);
              nav.to("/account/security");
            }}
          />
        ) : (
          <Form form={form} label={texts.security.addPhone}>
            <PhoneField {...form.field("phone")} />
            <div>
              <Button type="submit" isBusy={form.isBusy} busyLabel={texts.common.sending}>
                {texts.common.sendCode}
              </Button>
            </div>
          </Form>
        )}
      </Card>
      <p className="text-sm">
        <TextLink href="/account/security">{texts.security.back}</TextLink>
      </p>
    </AccountPage>
  );
}
