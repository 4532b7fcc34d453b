import { Button } from "../../components/button";
import { Card } from "../../components/card";
import { TextField } from "../../components/field";
import { Form } from "../../components/form";
import { useStepUp } from "../features/step-up/step-up";
import { auth } from "../lib/auth-client";
import { authFetch } from "../lib/http";
import { useSession } from "../lib/session";
import { settings } from "../lib/settings";
import { setSignOutRedirect } from "../lib/sign-out-redirect";
import { useForm } from "../../lib/use-form";
import { texts } from "../texts";
import { AccountPage } from "../account-layout";

export function DeleteAccount() {
  const session = useSession();
  const withStepUp = useStepUp();
  const name = session?.user.email || session?.user.phone || texts.deleteAccount.keyword;
  const form = useForm({
    values: { confirm: "" },
    checks: {
      confirm: (value) =>
        value.trim().toLowerCase() === name.toLowerCase()
          ? undefined
          : texts.deleteAccount.notConfirmed(name),
    },
    submit: async () => {
      await withStepUp((nonce) =>
        authFetch("/user", { method: "DELETE", body: nonce === undefined ? {} : { nonce } }),
      );
      setSignOutRedirect("/goodbye");
      await auth.signOut({ scope: "local" });
    },
  });
  const isDisabled = form.failure?.code === "feature_disabled";
  return (
    <AccountPage title={texts.deleteAccount.title} lead={texts.deleteAccount.lead}>
      <Card title={texts.deleteAccount.whatHappens}>
        <ul className="grid list-disc gap-2 ps-5 text-soft">
          {texts.deleteAccount.consequences.map((consequence) => (
            <li key={consequence}>{consequence}</li>
          ))}
        </ul>
      </Card>
      <Card>
        <Form
          form={form}
          label={texts.deleteAccount.title}
          help={
            isDisabled &&
            settings.supportUrl && (
              <p>
                <a className="font-medium underline underline-offset-4" href={settings.supportUrl}>
                  {texts.common.contactSupport}
                </a>
              </p>
            )
          }
        >
          <TextField
            {...form.field("confirm")}
            label={texts.deleteAccount.typeToConfirm(<strong>{name}</strong>)}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
          />
          <div>
            <Button
              type="submit"
              variant="danger"
              isBusy={form.isBusy}
              busyLabel={texts.deleteAccount.deleting}
            >
              {texts.deleteAccount.submit}
            </Button>
          </div>
        </Form>
      </Card>
    </AccountPage>
  );
}
