import { useSearch } from "wouter";

import { Button } from "../../components/button";
import { EmailField } from "../components/fields";
import { Form } from "../../components/form";
import { TextLink } from "../components/text-link";
import { auth } from "../lib/auth-client";
import { captchaOption } from "../lib/captcha";
import { unwrap } from "../../lib/failure";
import { saveLastSignInMethod } from "../lib/last-sign-in-method";
import { getPageState, waitForUnload } from "../lib/navigation";
import { withNext } from "../../lib/next-param";
import { pageUrl } from "../lib/settings";
import { useForm } from "../../lib/use-form";
import { checkEmail } from "../lib/validation";
import { texts } from "../texts";
import { RequireGuest } from "../guards";
import { GuestPage } from "../guest-layout";

export function Sso() {
  return (
    <RequireGuest>
      <Page />
    </RequireGuest>
  );
}

function Page() {
  const search = useSearch();
  const form = useForm({
    values: { email: getPageState().email ?? "" },
    checks: { email: checkEmail },
    submit: async ({ email }) => {
      const domain = email.trim().split("@")[1] ?? "";
      const options = { redirectTo: pageUrl(withNext("/callback", search)), ...(await captchaOption()) };
      await unwrap(auth.signInWithSSO({ domain, options }));
      saveLastSignInMethod("sso");
      await waitForUnload();
    },
  });
  return (
    <GuestPage
      title={texts.singleSignOn.title}
      lead={texts.singleSignOn.lead}
      footer={
        <TextLink href={withNext("/sign-in", search)} state={{ email: form.values.email }}>
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
