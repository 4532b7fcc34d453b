import type { User } from "@supabase/auth-js";
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { Button } from "../../components/button";
import { TextField } from "../../components/field";
import { Form } from "../../components/form";
import { toast } from "../../components/toast";
import { auth } from "../../lib/auth-client";
import { done } from "../../lib/failure";
import { useForm } from "../../lib/use-form";
import { useUnsaved } from "../../lib/unsaved";
import { userQuery } from "../../lib/user";
import * as texts from "../../texts";
import { metadataText, profileFields } from "./person";

type Props = {
  user: User;
  /** Runs a call that may ask for more proof first. */
  guarded: <T>(call: () => Promise<T>) => Promise<T>;
};

/** Saves what changed, shows it at once, and takes it back when the server refuses. */
export function ProfileForm({ user, guarded }: Props) {
  const cache = useQueryClient();
  const { queryKey } = userQuery;
  const save = useMutation({
    mutationFn: (data: Record<string, string>) => guarded(() => done(auth.updateUser({ data }))),
    onMutate: (data) => {
      const before = cache.getQueryData(queryKey);
      if (before) {
        cache.setQueryData(queryKey, { ...before, user_metadata: { ...before.user_metadata, ...data } });
      }
      return before;
    },
    onError: (_error, _data, before) => before && cache.setQueryData(queryKey, before),
    onSuccess: ({ user: saved }) => cache.setQueryData(queryKey, saved),
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
  useUnsaved(hasChanges && !form.isBusy);
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
