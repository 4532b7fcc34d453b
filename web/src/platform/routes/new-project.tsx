// Creating a project (N31).

import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { Button, buttonClass } from "../../components/button";
import { CopyIcon } from "../../components/code-block";
import { TextField } from "../../components/field";
import { Form } from "../../components/form";
import { Switch } from "../../components/switch";
import { toast } from "../../components/toast";
import { useForm } from "../../lib/use-form";
import { words } from "../../texts/words";
import { createProject } from "../features/projects/api";
import { Screen } from "../shell/screen";
import { texts } from "../texts";

const t = texts.projects;
const maxNameLength = 256;
const passwordBytes = 18;

/** 24 characters that need no escaping in a connection URI. */
export function generatePassword(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(passwordBytes));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
}

export default function NewProject() {
  const navigate = useNavigate();
  const client = useQueryClient();
  const [isIsolated, setIsolated] = useState(false);
  const form = useForm({
    values: { name: "", region: "", password: "" },
    checks: {
      name: (name) => {
        if (!name.trim()) return t.nameMissing;
        return [...name].length > maxNameLength ? t.nameLong : undefined;
      },
    },
    submit: async ({ name, region, password }) => {
      const project = await createProject({
        name: name.trim(),
        ...(region.trim() && { region: region.trim() }),
        ...(password && { db_pass: password }),
        ...(isIsolated && { isolated: true }),
      });
      toast(t.createdToast(project.name));
      void client.invalidateQueries({ queryKey: ["projects"] });
      void navigate({ to: "/project/$ref", params: { ref: project.ref } });
    },
  });
  return (
    <Screen title={t.createTitle} lead={t.createLead} width="reading">
      <Form form={form} label={t.createTitle}>
        <TextField
          {...form.field("name")}
          label={t.name}
          hint={t.nameHint}
          autoComplete="off"
          data-autofocus
        />
        <TextField
          {...form.field("password")}
          label={t.optional(t.password)}
          hint={t.passwordHint}
          autoComplete="off"
          spellCheck={false}
          className="font-mono"
          aside={
            <span className="flex items-center gap-1">
              {form.values.password && (
                <CopyIcon text={form.values.password} label={`${words.copy}: ${t.password}`} />
              )}
              <Button variant="quiet" size="text" onClick={() => form.set("password", generatePassword())}>
                {t.generate}
              </Button>
            </span>
          }
        />
        <TextField
          {...form.field("region")}
          label={t.optional(t.region)}
          hint={t.regionHint}
          autoComplete="off"
        />
        <Switch label={t.isolated} hint={t.isolatedHint} isOn={isIsolated} onSwitch={setIsolated} />
        <div className="flex gap-2">
          <Button type="submit" isBusy={form.isBusy} busyLabel={t.creating}>
            {t.create}
          </Button>
          <Link to="/" className={buttonClass("ghost")}>
            {words.cancel}
          </Link>
        </div>
      </Form>
    </Screen>
  );
}
