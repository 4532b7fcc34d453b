import type { User } from "@supabase/auth-js";
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { Button } from "../../../components/button";
import { TextField } from "../../../components/field";
import { Form } from "../../../components/form";
import { toast } from "../../components/toast";
import { auth } from "../../lib/auth-client";
import { unwrap } from "../../../lib/failure";
import { useUnsavedChanges } from "../../../lib/unsaved-changes";
import { useForm } from "../../../lib/use-form";
import { userQuery } from "../../lib/user";
import { texts } from "../../texts";
import { metadataText, profileFields } from "./user-profile";

type Props = {
  user: User;
  /** Runs a call that may require step-up authentication. */
  withStepUp: <T>(call: () => Promise<T>) => Promise<T>;
};

/** Saves changed fields with an optimistic update, rolled back on errors. */
export function ProfileForm({ user, withStepUp }: Props) {
  const queryClient = useQueryClient();
  const { queryKey } = userQuery;
  const save = useMutation({
    mutationFn: (data: Record<string, string>) => withStepUp(() => unwrap(auth.updateUser({ data }))),
    onMutate: (data) => {
      const previous = queryClient.getQueryData(queryKey);
      if (previous) {
        queryClient.setQueryData(queryKey, {
          ...previous,
          user_metadata: { ...previous.user_metadata, ...data },
        });
      }
      return previous;
    },
    onError: (_error, _data, previous) => previous && queryClient.setQueryData(queryKey, previous),
    onSuccess: ({ user: saved }) => queryClient.setQueryData(queryKey, saved),
  });
  const saved = Object.fromEntries(profileFields.map(({ key }) => [key, metadataText(user, key)]));
  const form = useForm({
    values: saved,
    checks: Object.fromEntries(
      profileFields.map(({ key, label, required }) => [
        key,
        (value: string) => (required && !value.trim() ? texts.checks.required(label) : undefined),
      ]),
    ),
    submit: async (values) => {
      const changed = Object.entries(values)
        .map(([key, value]): [string, string] => [key, value.trim()])
        .filter(([key, value]) => value !== saved[key]);
      if (changed.length > 0) await save.mutateAsync(Object.fromEntries(changed));
      toast(texts.profile.saved);
    },
  });
  const hasChanges = profileFields.some(({ key }) => form.values[key] !== saved[key]);
  useUnsavedChanges(hasChanges && !form.isBusy);
  return (
    <Form form={form} label={texts.profile.details}>
      {profileFields.map(({ key, label, required, max }) => (
        <TextField
          key={key}
          {...form.field(key)}
          label={required ? label : texts.common.optional(label)}
          maxLength={max}
          autoComplete={key === "full_name" ? "name" : "off"}
        />
      ))}
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Button type="submit" isBusy={form.isBusy} busyLabel={texts.common.saving} disabled={!hasChanges}>
          {texts.profile.save}
        </Button>
        {hasChanges && !form.isBusy && <p className="text-sm text-soft">{texts.profile.unsaved}</p>}
      </div>
    </Form>
  );
}
