import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "../../components/button";
import { Card } from "../../components/card";
import { Form } from "../../components/form";
import { PhoneField } from "../../components/phone-field";
import { TextLink } from "../../components/text-link";
import { toast } from "../../components/toast";
import { PhoneCode } from "../../features/step-up/phone-code";
import { useStepUp } from "../../features/step-up/step-up";
import { auth } from "../../lib/auth-client";
import { done } from "../../lib/failure";
import { useGo } from "../../lib/navigation";
import { useForm } from "../../lib/use-form";
import { userQuery } from "../../lib/user";
import { checkPhone, plainPhone } from "../../lib/validation";
import * as texts from "../../texts";
import { AccountPage } from "../account-layout";

/** `/account/security/phone/new`: a number, then the code that is sent there. */
export function NewPhone() {
  const go = useGo();
  const cache = useQueryClient();
  const guarded = useStepUp();
  const [factorId, setFactorId] = useState<string | null>(null);
  const form = useForm({
    values: { phone: "" },
    screen: "phone",
    checks: { phone: checkPhone },
    submit: async ({ phone }) => {
      const number = plainPhone(phone);
      const enrol = () => done(auth.mfa.enroll({ factorType: "phone", friendlyName: number, phone: number }));
      setFactorId((await guarded(enrol)).id);
      // Whoever leaves now finds it among the unfinished ones.
      void cache.invalidateQueries(userQuery);
    },
  });
  return (
    <AccountPage title={texts.security.addPhone}>
      <Card>
        {factorId ? (
          <PhoneCode
            factor={{ id: factorId, friendly_name: plainPhone(form.values.phone) }}
            onDone={() => {
              void cache.invalidateQueries(userQuery);
              toast(texts.common.twoStepOn);
              go.to("/account/security");
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
