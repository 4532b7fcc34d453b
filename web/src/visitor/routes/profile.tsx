import type { User } from "@supabase/auth-js";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { Badge, Card } from "../../components/card";
import { CopyButton } from "../../components/copy-button";
import { Notice } from "../../components/notice";
import { CardSkeleton, LoadError } from "../../components/states";
import { TextLink } from "../components/text-link";
import { Time } from "../../components/time";
import { ProfileForm } from "../features/profile/profile-form";
import { avatarUrl, displayName, initials, isEmailVerified } from "../features/profile/user-profile";
import { useStepUp } from "../features/step-up/step-up";
import { getPageState } from "../lib/navigation";
import { useSignInMethods } from "../lib/use-sign-in-methods";
import { userQuery } from "../lib/user";
import { texts } from "../texts";
import { AccountPage } from "../account-layout";

export function Profile() {
  const user = useQuery(userQuery);
  const { notice } = getPageState();
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
  const withStepUp = useStepUp();
  if (query.isPending) return <CardSkeleton label={texts.profile.loading} />;
  if (query.isError) return <LoadError error={query.error} onRetry={query.refetch} />;
  const user = query.data;
  return (
    <>
      <Card>
        <div className="flex flex-wrap items-center gap-4">
          <Avatar user={user} />
          <div className="grid min-w-0 gap-0.5">
            <p className="text-lg font-semibold break-words">{displayName(user) || texts.profile.noName}</p>
            <p className="text-soft">{user.email || user.phone}</p>
          </div>
        </div>
      </Card>
      <Card title={texts.profile.details} lead={displayName(user) ? undefined : texts.profile.detailsLead}>
        <ProfileForm key={user.id} user={user} withStepUp={withStepUp} />
      </Card>
      <Card title={texts.profile.account}>
        <dl className="grid gap-4">
          <DetailsEntry
            name={texts.profile.email}
            action={<TextLink href="/account/email">{texts.profile.change}</TextLink>}
          >
            <span className="flex flex-wrap items-center gap-2">
              {user.email || texts.profile.noEmail}
              <EmailBadge user={user} />
            </span>
            {user.new_email && (
              <p className="text-sm text-soft">{texts.profile.waitingFor(user.new_email)}</p>
            )}
          </DetailsEntry>
          {user.phone && (
            <DetailsEntry name={texts.profile.phone}>+{user.phone.replace(/^\+/, "")}</DetailsEntry>
          )}
          <DetailsEntry name={texts.profile.memberSince}>
            <Time at={user.created_at} form="day" />
          </DetailsEntry>
          {user.last_sign_in_at && (
            <DetailsEntry name={texts.profile.lastSignIn}>
              <Time at={user.last_sign_in_at} form="exact" />
            </DetailsEntry>
          )}
          <DetailsEntry
            name={texts.profile.userId}
            action={<CopyButton text={user.id} label={texts.profile.copyUserId} />}
          >
            <code className="font-mono text-sm">{user.id}</code>
          </DetailsEntry>
        </dl>
      </Card>
    </>
  );
}

/** Nothing for an address that the project confirmed without asking anybody. */
function EmailBadge({ user }: { user: User }) {
  const { methods } = useSignInMethods();
  if (!user.email || !methods) return null;
  if (!user.email_confirmed_at) return <Badge tone="warn">{texts.profile.isNotVerified}</Badge>;
  if (!isEmailVerified(user, methods.mailer_autoconfirm)) return null;
  return <Badge tone="good">{texts.profile.isVerified}</Badge>;
}

function Avatar({ user }: { user: User }) {
  const url = avatarUrl(user);
  const [brokenUrl, setBrokenUrl] = useState<string | null>(null);
  if (url && url !== brokenUrl) {
    return (
      <img src={url} alt="" onError={() => setBrokenUrl(url)} className="size-16 rounded-full object-cover" />
    );
  }
  return (
    <span
      aria-hidden
      className="grid size-16 place-items-center rounded-full bg-sunk text-xl font-semibold text-soft"
    >
      {initials(user)}
    </span>
  );
}

type DetailsEntryProps = { name: string; action?: ReactNode; children: ReactNode };

function DetailsEntry({ name, action, children }: DetailsEntryProps) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 border-b border-line pb-4 last:border-0 last:pb-0">
      <dt className="text-sm text-soft">{name}</dt>
      <dd className="col-start-1">{children}</dd>
      {action && <dd className="col-start-2 row-span-2 row-start-1 text-sm">{action}</dd>}
    </div>
  );
}
