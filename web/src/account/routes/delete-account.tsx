import { Button } from "../../components/button";
import { Card } from "../../components/card";
import { TextField } from "../../components/field";
import { Form } from "../../components/form";
import { useStepUp } from "../../features/step-up/step-up";
import { auth } from "../../lib/auth-client";
import { authFetch } from "../../lib/http";
import { leaveTo } from "../../lib/leaving";
import { useSession } from "../../lib/session";
import { settings } from "../../lib/settings";
import { useForm } from "../../lib/use-form";
import { AccountPage } from "../account-layout";

export function DeleteAccount() {
  const session = useSession();
  const guarded = useStepUp();
  const name = session?.user.email || session?.user.phone || "delete";
  const form = useForm({
    values: { confirm: "" },
    checks: {
      confirm: (value) =>
        value.trim().toLowerCase() === name.toLowerCase() ? undefined : `Type ${name} to confirm.`,
    },
    submit: async () => {
      await guarded((nonce) =>
        authFetch("/user", { method: "DELETE", body: nonce === undefined ? {} : { nonce } }),
      );
      leaveTo("/goodbye");
      await auth.signOut({ scope: "local" });
    },
  });
  const isRefused = form.failure?.code === "feature_disabled";
  return (
    <AccountPage title="Delete your account" lead="This cannot be undone.">
      <Card title="What happens">
        <ul className="grid list-disc gap-2 ps-5 text-soft">
          <li>You are signed out on every device.</li>
          <li>Your profile, connected accounts and second steps are deleted.</li>
          <li>What belongs to your account in this service may be deleted with it.</li>
          <li>Nobody can restore it, also not the operator.</li>
        </ul>
      </Card>
      <Card>
        <Form
          form={form}
          label="Delete your account"
          help={
            isRefused &&
            settings.supportUrl && (
              <p>
                <a className="font-medium underline underline-offset-4" href={settings.supportUrl}>
                  Contact support
                </a>
              </p>
            )
          }
        >
          <TextField
            {...form.field("confirm")}
            label={
              <>
                Type <strong>{name}</strong> to confirm
              </>
            }
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
          />
          <div>
            <Button type="submit" variant="danger" isBusy={form.isBusy} busyLabel="Deleting…">
              Delete my account
            </Button>
          </div>
        </Form>
      </Card>
    </AccountPage>
  );
}
