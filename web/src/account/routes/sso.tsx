import { useSearch } from "wouter";

import { Button } from "../../components/button";
import { EmailField } from "../../components/field";
import { Form } from "../../components/form";
import { TextLink } from "../../components/text-link";
import { auth } from "../../lib/auth-client";
import { captchaOption } from "../../lib/captcha";
import { done } from "../../lib/failure";
import { rememberMethod } from "../../lib/last-method";
import { carried, leavingNow } from "../../lib/navigation";
import { keepNext } from "../../lib/next";
import { pageUrl } from "../../lib/settings";
import { useForm } from "../../lib/use-form";
import { checkEmail } from "../../lib/validation";
import * as texts from "../../texts";
import { Guest } from "../guards";
import { GuestPage } from "../guest-layout";

export function Sso() {
  return (
    <Guest>
      <Page />
    </Guest>
  );
}

function Page() {
  const search = useSearch();
  const form = useForm({
    values: { email: carried().email ?? "" },
    checks: { email: checkEmail },
    submit: async ({ email }) => {
      const domain = email.trim().split("@")[1] ?? "";
      const options = { redirectTo: pageUrl(keepNext("/callback", search)), ...(await captchaOption()) };
      await done(auth.signInWithSSO({ domain, options }));
      rememberMethod("sso");
      await leavingNow();
    },
  });
  return (
    <GuestPage
      title={texts.singleSignOn.title}
      lead={texts.singleSignOn.lead}
      foot={
        <TextLink href={keepNext("/sign-in", search)} state={{ email: form.values.email }}>
          {texts.signIn.otherWay}
        </TextLink>
      }
    >
      <Form form={form} label={texts.singleSignOn.title}>
        <EmailField {...form.field("email")} label={texts.singleSignOn.workEmail} />
        <Button type="submit" isBusy={form.isBusy} busyLabel={texts.singleSignOn.opening} className="w-full">
          {texts.common.continue}
        </Button>
      </Form>
    </GuestPage>
  );
}
