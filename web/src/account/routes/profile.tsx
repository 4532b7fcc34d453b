import type { User } from "@supabase/auth-js";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { Badge, Card } from "../../components/card";
import { CopyButton } from "../../components/copy-button";
import { Notice } from "../../components/notice";
import { LoadError, Skeleton } from "../../components/states";
import { TextLink } from "../../components/text-link";
import { Time } from "../../components/time";
import { initialsOf, nameOf, pictureOf } from "../../features/profile/person";
import { ProfileForm } from "../../features/profile/profile-form";
import { useStepUp } from "../../features/step-up/step-up";
import { carried } from "../../lib/navigation";
import { userQuery } from "../../lib/user";
import * as texts from "../../texts";
import { AccountPage } from "../account-layout";

export function Profile() {
  const user = useQuery(userQuery);
  const { notice } = carried();
  return (
    <AccountPage title={texts.profile.title} lead={texts.profile.lead}>
      {notice && (
        <Notice tone="good" role="status">
          {notice}
        </Notice>
      )}
      <Content query={user} />
    </AccountPage>
  );
}

type ContentProps = { query: ReturnType<typeof useQuery<User>> };

function Content({ query }: ContentProps) {
  const guarded = useStepUp();
  if (query.isPending) return <Skeleton label={texts.profile.loading} lines={6} />;
  if (query.isError) return <LoadError error={query.error} onRetry={query.refetch} />;
  const user = query.data;
  return (
    <>
      <Card>
        <div className="flex flex-wrap items-center gap-4">
          <Picture user={user} />
          <div className="grid min-w-0 gap-0.5">
            <p className="text-lg font-semibold break-words">{nameOf(user) || texts.profile.noName}</p>
            <p className="text-soft">{user.email || user.phone}</p>
          </div>
        </div>
      </Card>
      <Card title={texts.profile.details} lead={nameOf(user) ? undefined : texts.profile.detailsLead}>
        <ProfileForm key={user.id} user={user} guarded={guarded} />
      </Card>
      <Card title={texts.profile.account}>
        <dl className="grid gap-4">
          <Entry
            name={texts.profile.email}
            action={<TextLink href="/account/email">{texts.profile.change}</TextLink>}
          >
            <span className="flex flex-wrap items-center gap-2">
              {user.email || texts.profile.noEmail}
              {user.email &&
                (user.email_confirmed_at ? (
                  <Badge tone="good">{texts.profile.isVerified}</Badge>
                ) : (
                  <Badge tone="warn">{texts.profile.isNotVerified}</Badge>
                ))}
            </span>
            {user.new_email && (
              <p className="text-sm text-soft">{texts.profile.waitingFor(user.new_email)}</p>
            )}
          </Entry>
          {user.phone && <Entry name={texts.profile.phone}>+{user.phone.replace(/^\+/, "")}</Entry>}
          <Entry name={texts.profile.memberSince}>
            <Time at={user.created_at} form="day" />
          </Entry>
          {user.last_sign_in_at && (
            <Entry name={texts.profile.lastSignIn}>
              <Time at={user.last_sign_in_at} form="exact" />
            </Entry>
          )}
          <Entry
            name={texts.profile.userId}
            action={<CopyButton text={user.id} label={texts.profile.copyUserId} />}
          >
            <code className="font-mono text-sm">{user.id}</code>
          </Entry>
        </dl>
      </Card>
    </>
  );
}

function Picture({ user }: { user: User }) {
  const picture = pictureOf(user);
  const [missing, setMissing] = useState<string | null>(null);
  if (picture && picture !== missing) {
    return (
      <img
        src={picture}
        alt=""
        onError={() => setMissing(picture)}
        className="size-16 rounded-full object-cover"
      />
    );
  }
  return (
    <span
      aria-hidden
      className="grid size-16 place-items-center rounded-full bg-sunk text-xl font-semibold text-soft"
    >
      {initialsOf(user)}
    </span>
  );
}

type EntryProps = { name: string; action?: ReactNode; children: ReactNode };

function Entry({ name, action, children }: EntryProps) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 border-b border-line pb-4 last:border-0 last:pb-0">
      <dt className="text-sm text-soft">{name}</dt>
      <dd className="col-start-1">{children}</dd>
      {action && <dd className="col-start-2 row-span-2 row-start-1 text-sm">{action}</dd>}
    </div>
  );
}
